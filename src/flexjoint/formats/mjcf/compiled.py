"""An MJCF file through MuJoCo's own compiler: defaults, units, frames and inertias are resolved as MuJoCo does.

Meshes are opened only where an inertia comes from them.  A body with an <inertial> has its own, so its mesh geoms
become small spheres before MuJoCo compiles; their poses stay.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import RobotError, quoted
from ...file_limits import require
from ..report import Note
from ..urdf.packages import existing
from ..xml import Element
from .source import Source, described, missing_files, translated

LARGEST = 1e100  # products of larger numbers overflow
KINDS = {
    "body": ("bodies", ("body", "worldbody")),
    "joint": ("joints", ("joint", "freejoint")),
    "geom": ("geoms", ("geom",)),
    "equality": ("equalities", ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain", "distance")),
    "tendon": ("tendons", ("fixed", "spatial")),
    "actuator": ("actuators", ()),
}  # attribute of MjSpec, and tags that an element may have


class MeshData(NamedTuple):
    """What a geom says of its mesh: the file as written, its path if it exists, and its scale."""

    file: str
    path: str | None
    scale: tuple[float, ...]


class Compiled(NamedTuple):
    """What MuJoCo makes of a file.

    Attributes:
        model: the `MjModel`.
        elements: the element that each body, joint, geom, equality, tendon and actuator comes from, by kind and id.
        names: unique names of the bodies and joints, by kind and id.
        meshes: meshes by id of the geom.
        source: the file.
    """

    model: Any
    elements: dict[str, list[Element]]
    names: dict[str, list[str]]
    meshes: dict[int, MeshData]
    source: Source


def compiled(source: Source, note: Note) -> Compiled:
    """The model that MuJoCo makes of a file.

    Raises:
        RobotError: MuJoCo is not installed or refuses the file, or the model is beyond a limit.
    """
    mujoco = imported(source.place)
    try:
        spec = mujoco.MjSpec.from_string(source.text)
    except Exception as error:  # MuJoCo raises ValueError, and TypeError for texts it cannot take
        raise RobotError(translated(source, str(error))) from None
    meshes = replaced_meshes(mujoco, spec, source, note)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = spec.compile()
        except Exception as error:
            raise RobotError(translated(source, str(error))) from None
    for x in caught:
        note(source.top, "<mujoco>", f"MuJoCo warns: {quoted(x.message)}", "suspicious")
    require("links", max(model.nbody, model.njnt), source.place, RobotError)
    elements = {kind: elements_of(spec, kind, source) for kind in KINDS}
    check_numbers(model, elements, source)
    names = {"body": body_names(model), "joint": joint_names(model)}
    return Compiled(model, elements, names, {geom.id: mesh for geom, mesh in meshes}, source)


def imported(place: str) -> Any:
    """The package mujoco, which `mujoco-core` installs."""
    try:
        import mujoco
    except ImportError:
        raise RobotError(
            f"{place}: MJCF files are read by MuJoCo's own compiler, which is not installed: "
            "pip install 'flexjoint[mjcf]'"
        ) from None
    if not hasattr(mujoco.MjModel, "nactuator"):
        found = f"MuJoCo {mujoco.__version__} is installed"
        raise RobotError(f"{place}: {found}, 4.0 or newer is needed: pip install 'flexjoint[mjcf]'")
    return mujoco


# Meshes -------------------------------------------------------------------------------------------------------------


def replaced_meshes(mujoco: Any, spec: Any, source: Source, note: Note) -> list[tuple[Any, MeshData]]:
    """The geoms with meshes and what these are; those that no inertia comes from become spheres without mass."""
    files = {mesh.name or Path(mesh.file).stem: (mesh, mesh_path(mesh, spec, source)) for mesh in spec.meshes}
    from_geoms = spec.compiler.inertiafromgeom
    total = spec.compiler.settotalmass > 0
    found, needed = [], set()
    missing: dict[str, None] = {}
    for geom in spec.geoms:
        if geom.meshname not in files:
            if geom.hfieldname:
                as_sphere(mujoco, geom)
            continue
        mesh, path = files[geom.meshname]
        found.append((geom, MeshData(mesh.file, path, tuple(mesh.scale.tolist()))))
        own = geom.parent.explicitinertial and from_geoms == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
        own = own or from_geoms == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
        massless = geom.mass == 0 or (np.isnan(geom.mass) and geom.density == 0)
        lost = bool(mesh.file) and path is None
        if own or massless or (lost and is_static(geom.parent) and not total):
            if not own and not massless:
                reason = f"the mesh '{mesh.file}' does not exist: its body, which does not move, is without this mass"
                element = source.at(geom.info) or source.top
                note(element, described(element), reason, "chosen")
            as_sphere(mujoco, geom)
        elif lost:
            missing[mesh.file] = None
        else:
            needed.add(geom.meshname)
            mesh.file = path or ""
    if missing:
        raise missing_files(source, list(missing))
    for name, (mesh, _) in files.items():
        if name not in needed:
            spec.delete(mesh)
    for hfield in list(spec.hfields):
        spec.delete(hfield)
    spec.strippath = False
    return found


def as_sphere(mujoco: Any, geom: Any) -> None:
    """Turn a geom with a mesh or a height field into a sphere without mass in the same pose."""
    geom.type = mujoco.mjtGeom.mjGEOM_SPHERE
    geom.meshname = geom.hfieldname = ""
    geom.size = [1e-3, 1e-3, 1e-3]
    geom.mass, geom.density = 0.0, 0.0


def is_static(body: Any) -> bool:
    """Whether a body is fixed to the world."""
    while body is not None:
        if list(body.joints):
            return False
        body = body.parent
    return True


def mesh_path(mesh: Any, spec: Any, source: Source) -> str | None:
    """The path of the file of a mesh, as MuJoCo looks for it; None if there is no such file."""
    if not mesh.file or "\0" in mesh.file:
        return None
    name = Path(mesh.file).name if spec.strippath else mesh.file
    element = source.at(mesh.info)
    beside = source.folder / (element.file if element is not None and element.file != source.place else "")
    places = dict.fromkeys((source.folder, beside.parent if beside != source.folder else beside))
    return next((x for place in places if (x := existing(place / (spec.meshdir or "") / name))), None)


# Elements and names -------------------------------------------------------------------------------------------------


def elements_of(spec: Any, kind: str, source: Source) -> list[Element]:
    """The elements by id; the root element where MuJoCo made something that has none."""
    attribute, tags = KINDS[kind]
    by_name = {x.attributes.get("name"): x for x in source.lines if x.tag in tags}
    attached = any(x.tag == "attach" for x in source.lines)  # what comes from other files has their lines
    found = {}
    for x in getattr(spec, attribute):
        element = by_name.get(x.name) if attached else source.at(x.info) or by_name.get(x.name)
        known = element is not None and (not tags or element.tag in tags)
        found[x.id] = element if known and element is not None else source.top
    return [found[i] for i in sorted(found)]


def body_names(model: Any) -> list[str]:
    """Names of the bodies by id, with new ones for bodies without a name."""
    names = [model.body(i).name for i in range(model.nbody)]
    return named(names, [f"body{i}" for i in range(model.nbody)])


def joint_names(model: Any) -> list[str]:
    """Names of the joints by id; one without a name is called after its body."""
    bodies = body_names(model)
    names = [model.joint(i).name for i in range(model.njnt)]
    return named(names, [f"{bodies[model.jnt_bodyid[i]]}_joint" for i in range(model.njnt)])


def named(names: list[str], others: list[str]) -> list[str]:
    """The names, with others, made unique, for those that are empty."""
    taken = set(names)
    found: list[str] = []
    for name, other in zip(names, others):
        k = 1
        while not name:
            k += 1
            name = "" if other in taken else other
            other = f"{others[len(found)]}{k}"
        taken.add(name)
        found.append(name)
    return found


def check_numbers(model: Any, elements: dict[str, list[Element]], source: Source) -> None:
    """Refuse numbers that overflow in products."""
    for kind, fields in (
        ("body", ("mass", "inertia", "ipos", "pos", "quat", "iquat")),
        ("joint", ("pos", "axis", "range", "stiffness")),
    ):
        prefix = {"body": "body", "joint": "jnt"}[kind]
        for field in fields:
            values = getattr(model, f"{prefix}_{field}")
            for i, row in enumerate(values):
                if not np.all(np.abs(row) < LARGEST):
                    element = elements[kind][i]
                    raise element.wrong(f"{field} of {described(element)} has a number beyond {LARGEST:g}")
    others = [model.opt.gravity, model.qpos0, model.qpos_spring, model.dof_armature, model.dof_damping]
    others += [model.dof_frictionloss, model.actuator_gear, model.actuator_armature, model.actuator_damping]
    if not all(np.all(np.abs(x) < LARGEST) for x in others):
        raise RobotError(f"{source.place}: a number of a joint, of an actuator or of gravity is beyond {LARGEST:g}")
