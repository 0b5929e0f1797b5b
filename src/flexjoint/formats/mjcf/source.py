"""The XML of an MJCF file with all that it includes, as one text for MuJoCo with a line for each element.

MuJoCo keeps the line of every element, so what its compiler makes, or refuses, is traced to the file and line it comes
from.  The text holds only what was checked here, without looks, sensors and plugins: no picture is opened, and no
code runs.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from ...errors import RobotError, listed, quoted
from ...file_limits import require
from ..toml import read_bytes
from ..urdf.packages import existing
from ..xml import INFINITE, NAN, Element, parse_xml

WHAT = "robot file (.xml)"
INERT_SECTIONS = frozenset(("visual", "statistic", "size", "keyframe", "sensor", "custom", "contact", "extension"))
INERT_ELEMENTS = frozenset(("texture", "material", "skin", "camera", "light", "plugin", "pair"))
INERT_ATTRIBUTES = frozenset(("material", "user", "fuse"))
TEXTS = frozenset(
    (
        *("name", "class", "childclass", "file", "model", "body", "body1", "body2", "joint", "joint1", "joint2"),
        *("geom", "geom1", "geom2", "site", "site1", "site2", "tendon", "tendon1", "tendon2", "mesh", "prefix"),
        *("jointinparent", "cranksite", "slidersite", "refsite", "sidesite", "key", "value", "hfield", "frame"),
    )
)  # attributes that are names
SETTINGS = '<compiler fusestatic="false" discardvisual="false"><lengthrange mode="none"/></compiler>'


class Source(NamedTuple):
    """An MJCF file with all that it includes.

    Attributes:
        top: its root element; the elements of included files stand in place of <include>.
        text: the XML for MuJoCo.
        lines: the element per line of the text.
        folder: folder of the file.
        place: name of the file, which begins every message.
    """

    top: Element
    text: str
    lines: list[Element]
    folder: Path
    place: str

    def at(self, info: str) -> Element | None:
        """The element at the line that a text of MuJoCo names; None if it names none."""
        found = re.search(r"\bline (\d+)", info)
        number = int(found[1]) if found else 0
        return self.lines[number - 1] if 1 <= number <= len(self.lines) else None


def read_source(data: bytes, path: str) -> Source:
    """The checked contents of an MJCF file and of the files that it includes.

    Raises:
        RobotError: a file is not well-formed, is no MJCF, has a document type, is beyond a limit, or is missing; or a
            number is not finite.
    """
    place = quoted(path)
    top = parse_xml(data, place, "MJCF")
    if top.tag != "mujoco":
        kind = {"robot": "a URDF", "sdf": "SDF"}.get(top.tag.lower(), f"an XML file of <{quoted(top.tag)}>")
        raise RobotError(f"{place}: this is {kind}, not MJCF, whose root element is <mujoco>")
    folder = Path(path).absolute().parent
    Includes(path, folder, len(data)).resolve(top, folder)
    check_numbers(top)
    check_size(top, place)
    lines: list[Element] = []
    text = "\n".join([*written(top, folder, lines), ""])
    return Source(top, text, lines, folder, place)


class Includes:
    """Puts the elements of included files in place of <include>, as MuJoCo does.

    A file is looked for beside the main file, then beside the file that includes it; none may be included twice.
    """

    def __init__(self, path: str, folder: Path, size: int) -> None:
        self.folder, self.size = folder, size
        self.files = {os.path.realpath(path)}

    def resolve(self, element: Element, folder: Path) -> None:
        """Replace the <include> elements below an element of a file in a folder."""
        children: list[Element] = []
        for child in element.children:
            if child.tag.lower() != "include":
                self.resolve(child, folder)
                children.append(child)
                continue
            path = self.found(child, folder)
            included = self.parsed(child, path)
            self.resolve(included, Path(path).parent)
            children += included.children
        element.children = children

    def found(self, element: Element, folder: Path) -> str:
        """The path of an included file."""
        name = element.reference("file")
        tried = [place / name for place in dict.fromkeys((self.folder, folder))]
        path = next((x for place in tried if (x := existing(place))), None)
        if path is None:
            raise element.wrong(f"the file '{quoted(name)}' to include does not exist in '{quoted(tried[0].parent)}'")
        real = os.path.realpath(path)
        if real in self.files:
            raise element.wrong(f"the file '{quoted(name)}' is included twice: remove one <include>")
        require("mjcf_files", len(self.files), f"{element.file}, line {element.line}", RobotError)
        self.files.add(real)
        return path

    def parsed(self, element: Element, path: str) -> Element:
        """The root element of an included file."""
        data = read_bytes(path, WHAT, limit="xml_bytes")
        self.size += len(data)
        require("xml_bytes", self.size, f"{element.file}, line {element.line}", RobotError)
        name = os.path.relpath(path, self.folder)
        return parse_xml(data, quoted(name), "MJCF")


def check_numbers(top: Element) -> None:
    """Refuse numbers that are not finite, with which MuJoCo goes on."""
    for element in top.walk():
        for attribute, text in element.attributes.items():
            if attribute not in TEXTS and any(NAN.fullmatch(x) or INFINITE.fullmatch(x) for x in text.split()):
                raise element.wrong(f"{attribute} of <{quoted(element.tag)}> is {quoted(text):.100}: it must be finite")


def check_size(top: Element, place: str) -> None:
    """Refuse what would become too many elements, bodies or vertices, before MuJoCo makes them."""
    for mesh in top.walk():
        sizes = mesh.attributes.get("params", "").split() if mesh.tag == "mesh" else []
        largest = max((mesh.parsed(x, "params of <mesh>") for x in sizes), default=0.0)
        require("mjcf_mesh", largest, f"{mesh.file}, line {mesh.line}, params of <mesh>", RobotError)
    elements, bodies = expanded_size(top)
    require("links", bodies, place, RobotError)
    require("xml_elements", elements, place, RobotError)


def expanded_size(element: Element) -> tuple[int, int]:
    """Numbers of elements and of bodies, with those that <replicate> and <composite> make."""
    sizes = [expanded_size(child) for child in element.children]
    elements, bodies = 1 + sum(x for x, _ in sizes), (element.tag == "body") + sum(x for _, x in sizes)
    if element.tag in ("flexcomp", "flex"):
        raise element.wrong(f"<{element.tag}> is a deformable body, which is not modelled: remove it")
    if element.tag == "composite":
        elements, bodies = 20 * copies(element), copies(element)
    if element.tag == "replicate":
        elements, bodies = elements * copies(element), bodies * copies(element)
    return elements, bodies


def copies(element: Element) -> int:
    """How many copies an element makes of what it holds."""
    counts = [element.parsed(x, f"count of <{element.tag}>") for x in element.attributes.get("count", "1").split()]
    return int(min(math.prod(max(x, 1.0) for x in counts), 1e9))


def written(element: Element, folder: Path, lines: list[Element], depth: int = 0) -> Iterator[str]:
    """The text for MuJoCo, line by line; the element of each line is appended to `lines`."""
    kept = {name: x for name, x in element.attributes.items() if name not in INERT_ATTRIBUTES}
    if element.tag == "hfield":  # the ground, whose shape does not matter
        stem = Path(kept.get("file", "")).stem
        kept = {"name": kept.get("name", stem), "size": "1 1 1 1", "nrow": "2", "ncol": "2"}
    if element.tag == "model" and "file" in kept:
        kept["file"] = attached_file(element, folder)
    attributes = "".join(f" {name}={quoteattr(x)}" for name, x in kept.items())
    lines.append(element)
    yield f"<{element.tag}{attributes}>"
    for child in element.children:
        if child.tag not in INERT_ELEMENTS and not (depth == 0 and child.tag in INERT_SECTIONS):
            yield from written(child, folder, lines, depth + 1)
    if depth == 0:
        lines.append(element)
        yield SETTINGS
    lines.append(element)
    yield f"</{element.tag}>"


def attached_file(element: Element, folder: Path) -> str:
    """The path of a model that is attached, which MuJoCo reads by itself: its XML is checked here."""
    name = element.attributes["file"]
    path = existing(folder / name)
    if path is None:
        raise element.wrong(f"the file '{quoted(name)}' of <model> does not exist in '{quoted(folder)}'")
    parse_xml(read_bytes(path, WHAT, limit="xml_bytes"), quoted(name), "MJCF")
    return path


def described(element: Element) -> str:
    """An element with its name for reports, such as "<motor> 'elbow'"."""
    name = element.attributes.get("name")
    return f"<{element.tag}> '{name}'" if name else f"<{element.tag}>"


def translated(source: Source, message: str) -> str:
    """A message of MuJoCo with the place in the file in place of the line in the text."""
    element = source.at(message)
    text = " ".join(re.sub(r",?\s*\bline (number=)?\d+", "", message).split())
    text = text.removeprefix("XML Error: ").removeprefix("Error: ")
    place = f"{element.file}, line {element.line}" if element is not None else source.place
    return f"{place}: MuJoCo: {quoted(text):.800}"


def missing_files(source: Source, names: list[str]) -> RobotError:
    """The error for mesh files that do not exist."""
    return RobotError(
        f"{source.place}: inertias come from mesh files that do not exist, {listed(names, most=4)}: put them there, or "
        "give the bodies an <inertial>"
    )
