"""Bodies that an MJCF shows or lets collide, as geometry in MuJoCo's body frames."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from ...numerics import product
from ...types import FloatArray
from ..tree.records import Geometry
from .bodies import rotation
from .compiled import Compiled

SPHERE, CAPSULE, CYLINDER, BOX = 2, 3, 5, 6  # MuJoCo's types of geoms; planes and ellipsoids are left out


def geometry_of(found: Compiled, bodies: Container[str]) -> dict[str, tuple[Geometry, ...]]:
    """Geometry by body, of the given bodies."""
    model = found.model
    by_body: dict[str, list[Geometry]] = {}
    for i in range(model.ngeom):
        name = found.names["body"][model.geom_bodyid[i]]
        shape = mesh_shape(found, i) or primitive_shape(found, i)
        if shape is None or name not in bodies:
            continue
        kind, size, file, path = shape
        collides = model.geom_contype[i] or model.geom_conaffinity[i]
        role = "collision" if collides else "visual"
        position, R = pose_of(found, i)
        line = found.elements["geom"][i].line
        by_body.setdefault(name, []).append(Geometry(name, role, kind, size, position, R, file, path, line))
    return {name: tuple(x) for name, x in by_body.items()}


def mesh_shape(found: Compiled, i: int) -> tuple[str, tuple[float, ...], str, str | None] | None:
    """Kind, scale, file and path of a geom with a mesh."""
    mesh = found.meshes.get(i)
    return None if mesh is None else ("mesh", mesh.scale, mesh.file, mesh.path)


def primitive_shape(found: Compiled, i: int) -> tuple[str, tuple[float, ...], str, None] | None:
    """Kind and size of a geom without a mesh; MuJoCo gives half lengths."""
    kind, (a, b, c) = int(found.model.geom_type[i]), found.model.geom_size[i].tolist()
    shapes = {
        SPHERE: ("sphere", (a,)),
        CAPSULE: ("capsule", (a, 2 * b)),
        CYLINDER: ("cylinder", (a, 2 * b)),
        BOX: ("box", (2 * a, 2 * b, 2 * c)),
    }
    return (*shapes[kind], "", None) if kind in shapes else None


def pose_of(found: Compiled, i: int) -> tuple[FloatArray, FloatArray]:
    """Position and rotation of a geom in its body; of a mesh those of the file's coordinates.

    MuJoCo moves the vertices of a mesh that it opens into the principal axes of the mesh.
    """
    model = found.model
    position, R, mesh = np.array(model.geom_pos[i]), rotation(model.geom_quat[i]), int(model.geom_dataid[i])
    if i in found.meshes and mesh >= 0:
        R = product(R, rotation(model.mesh_quat[mesh]).T)
        position = position - product(R, np.array(model.mesh_pos[mesh]))
    return position, R
