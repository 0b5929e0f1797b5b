"""Visual and collision geometry of links as geoms of MuJoCo."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import SubElement

from ...errors import InputError, quoted
from ...robot import BASE
from ..toml import suggestion
from ..tree.records import Geometry
from .document import Document, numbers, place

MESHES = (".stl", ".obj", ".msh")  # that MuJoCo reads
GROUPS = {"visual": "2", "collision": "3"}  # as MuJoCo's viewer shows and hides them
START = 512  # bytes of a file that tell whether an STL file is text


def write_geometry(
    document: Document, geometry: Mapping[str, Sequence[Geometry]], contacts: bool, folder: str | None
) -> None:
    """Geoms by link; meshes inside `folder` are named relative to it."""
    known = [BASE, *(x.name for x in document.robot.links)]
    meshes: dict[tuple[str, tuple[float, ...]], str] = {}
    for link, shapes in geometry.items():
        if link not in known:
            raise InputError(f"geometry: there is no link '{quoted(link)}'; {suggestion(str(link), known)}")
        for x in shapes:
            where = f"link '{link}'"
            what = f"{x.role} {x.kind}" + (f" '{x.file}'" if x.file else "")
            if reason := unreadable(x):
                document.note(where, what, f"left out: {reason}", "noted")
                continue
            geom = SubElement(document.bodies[link], "geom", type=x.kind, group=GROUPS[x.role])
            place(geom, x.position, x.rotation)
            if x.role == "visual" or not contacts:
                geom.set("contype", "0")
                geom.set("conaffinity", "0")
            if x.kind == "mesh":
                geom.set("mesh", mesh_asset(document, meshes, x, folder))
            elif x.kind == "box":
                geom.set("size", numbers(edge / 2 for edge in x.size))
            elif x.kind == "sphere":
                geom.set("size", numbers(x.size))
            else:
                geom.set("size", numbers([x.size[0], x.size[1] / 2]))


def unreadable(x: Geometry) -> str:
    """Why MuJoCo cannot take a body; "" if it can."""
    if x.kind != "mesh":
        return "" if min(x.size) > 0 else f"MuJoCo refuses the size {', '.join(f'{y:g}' for y in x.size)} m"
    if x.path is None or not os.path.isfile(x.path):
        return "the file was not found"
    suffix = Path(x.path).suffix.lower()
    if suffix not in MESHES:
        return f"MuJoCo reads {', '.join(MESHES)}, not {suffix or 'files without a suffix'}"
    with open(x.path, "rb") as file:
        start = file.read(START)
    text = suffix == ".stl" and start.startswith(b"solid") and b"facet" in start
    return "MuJoCo reads binary STL files, and this one is text" if text else ""


def mesh_asset(
    document: Document, meshes: dict[tuple[str, tuple[float, ...]], str], x: Geometry, folder: str | None
) -> str:
    """The name of the asset with the mesh of a body, which is written once per file and scale."""
    path = os.path.abspath(x.path or "")
    if (path, x.size) not in meshes:
        name = meshes[path, x.size] = f"mesh{len(meshes) + 1}"
        inside = folder is not None and path.startswith(os.path.join(os.path.abspath(folder), ""))
        file = os.path.relpath(path, folder) if inside else path
        # a shell: meshes for looks need not be closed, and no inertia is taken from them
        asset = SubElement(document.sections["asset"], "mesh", name=name, file=file, inertia="shell")
        if any(scale != 1 for scale in x.size):
            asset.set("scale", numbers(x.size))
    return meshes[path, x.size]
