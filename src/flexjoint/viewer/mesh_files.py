"""Meshes of links from STL, OBJ and DAE files, which may come from anywhere: sizes are limited, nothing else is opened.

A file that is too large, damaged or in another format raises InputError; viewers report it and draw a capsule.
Materials of OBJ files and textures are other files, and are not read.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, quoted
from ..file_limits import require
from ..formats.toml import read_bytes
from ..types import FloatArray

FORMATS = (".stl", ".obj", ".dae")
UNIT = re.compile(rb"<unit\b[^>]*\bmeter\s*=\s*[\"']([^\"']{1,40})[\"']")
REFUSED = (b"<!DOCTYPE", b"<!ENTITY", b"instance_node")  # of a DAE file: these can grow without end


class Mesh(NamedTuple):
    """Triangles of one colour.

    Attributes:
        vertices: (vertices, 3), m.
        faces: Indices of vertices, (faces, 3).
        colour: Red, green and blue, 0 to 255; None if the file has none.
    """

    vertices: FloatArray
    faces: np.ndarray
    colour: tuple[int, int, int] | None = None


def read_mesh(path: str) -> list[Mesh]:
    """The triangles in a file, one mesh per colour, in m.

    Args:
        path: .stl, .obj or .dae; the unit of a DAE file is applied, its up axis is not, as in other readers of URDF.

    Raises:
        InputError: The file cannot be read, is too large, or is no mesh.
    """
    place, suffix = quoted(path), Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"{place}: meshes are read from {', '.join(FORMATS)}; convert it")
    if suffix == ".dae" and find_spec("collada") is None:
        raise InputError(f"{place}: DAE files need pycollada: pip install 'flexjoint[view]'")
    data = read_bytes(path, "mesh", InputError, "mesh_bytes", "take a coarser mesh")
    scale = checked_collada(data, place) if suffix == ".dae" else 1.0
    parts = parsed(data, suffix[1:], place)
    count = sum(len(mesh.faces) for mesh in parts)
    if not count:
        raise InputError(f"{place}: there are no triangles in this file")
    require("mesh_faces", count, place, cure="take a coarser mesh")
    if not all(np.all(np.isfinite(mesh.vertices)) for mesh in parts):
        raise InputError(f"{place}: a vertex is not finite")
    return joined([mesh._replace(vertices=scale * mesh.vertices) for mesh in parts])


def checked_collada(data: bytes, place: str) -> float:
    """The unit of a DAE file in m; raises InputError for what could make a small file large."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:200]:
        raise InputError(f"{place}: the text is not UTF-8; convert it")
    for word in REFUSED:
        if word in data:
            raise InputError(f"{place}: {word.decode()} is not read; export the mesh without it")
    require("mesh_instances", data.count(b"<instance_geometry"), place, cure="export the mesh as one body")
    found = UNIT.search(data)
    try:
        unit = float(found[1]) if found else 1.0
    except ValueError:
        unit = 0.0
    if not 1e-9 <= unit <= 1e9:
        raise InputError(f"{place}: the unit is no plausible number of metres; correct <unit meter>")
    return unit


def parsed(data: bytes, suffix: str, place: str) -> list[Mesh]:
    """All bodies of a file, placed as its scene graph says."""
    import trimesh

    try:
        with silent():
            scene: Any = trimesh.load_scene(io.BytesIO(data), file_type=suffix, resolver=None)
            found = []
            for node in scene.graph.nodes_geometry:
                transform, name = scene.graph[node]
                body = scene.geometry[name]
                if isinstance(body, trimesh.Trimesh) and len(body.faces):
                    vertices = trimesh.transform_points(body.vertices, transform)
                    found.append(Mesh(np.asarray(vertices, dtype=float), np.asarray(body.faces), colour_of(body)))
            return found
    except MemoryError:
        raise
    except Exception as error:  # a damaged file raises any error in the reader
        what = quoted(f"{type(error).__name__}: {error}")
        raise InputError(f"{place}: not a mesh that can be read: {what}") from None


@contextmanager
def silent() -> Iterator[None]:
    """Discards log messages of trimesh, which quote the file, and warnings of its dependencies."""
    logger, handler = logging.getLogger("trimesh"), logging.NullHandler()
    before, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def colour_of(body: Any) -> tuple[int, int, int] | None:
    """The one colour of a body; None if its file has none."""
    visual = body.visual
    if not getattr(visual, "defined", False):
        return None
    material = getattr(visual, "material", None)
    colour = getattr(material, "main_color", None) if material is not None else getattr(visual, "main_color", None)
    if colour is None:
        return None
    red, green, blue = (int(x) for x in np.asarray(colour).ravel()[:3])
    return red, green, blue


def joined(parts: list[Mesh]) -> list[Mesh]:
    """One mesh per colour."""
    found = []
    for colour in dict.fromkeys(mesh.colour for mesh in parts):
        same = [mesh for mesh in parts if mesh.colour == colour]
        starts = np.cumsum([0, *(len(mesh.vertices) for mesh in same)])
        faces = [mesh.faces + start for mesh, start in zip(same, starts)]
        found.append(Mesh(np.concatenate([mesh.vertices for mesh in same]), np.concatenate(faces), colour))
    return found
