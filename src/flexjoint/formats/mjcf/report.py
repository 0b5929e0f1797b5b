"""Elements and attributes of an MJCF that carry dynamics and are not used, also in default classes."""

from __future__ import annotations

from collections.abc import Mapping

from ..report import Note
from ..xml import NUMBER, Element
from .source import described

STOPS = "softness of MuJoCo's end stops and friction: limits are numbers, friction is that of the joint"
CONTACT = "contact with surroundings is not part of a robot"
FLUID = "forces of a fluid are not modelled"
ATTRIBUTES: dict[str, dict[str, str]] = {
    "joint": {
        **dict.fromkeys(("solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin"), STOPS),
        "actuatorgravcomp": "gravity compensation of MuJoCo: torques contain the whole weight",
    },
    "body": {
        "gravcomp": "gravity compensation of MuJoCo: torques contain the whole weight",
        "mocap": "a body that is moved from outside: it is fixed here",
    },
    "geom": {"fluidshape": FLUID, "fluidcoef": FLUID, "adhesion": CONTACT, "surfacevel": CONTACT},
    "option": {"density": FLUID, "viscosity": FLUID, "wind": FLUID},
}  # reasons by tag and attribute
ELEMENTS = {
    "pair": CONTACT,
    "plugin": "code of a plugin, which is not run",
}  # reasons by tag


def note_unused(top: Element, note: Note) -> None:
    """Report the elements and attributes of an MJCF that carry dynamics and are not used."""
    for part in top.children:
        visit(part, "", note)


def visit(element: Element, owner: str, note: Note) -> None:
    """Report what is not used of an element and of those below it."""
    if element.tag in ("sensor", "keyframe", "visual", "custom", "equality", "extension"):
        return
    name = element.attributes.get("name", "")
    if element.tag == "default":
        name = f"class {element.attributes.get('class', 'main')}"
    if reason := ELEMENTS.get(element.tag):
        note(element, described(element), reason, "unused")
    known: Mapping[str, str] = ATTRIBUTES.get(element.tag, {})
    for attribute, text in element.attributes.items():
        if attribute in known and not is_off(text):
            of = f" of '{name or owner}'" if name or owner else ""
            note(element, f"<{element.tag} {attribute}>{of}", known[attribute], "unused")
    for child in element.children:
        visit(child, name or owner, note)


def is_off(text: str) -> bool:
    """Whether a value says that there is nothing: zeros, none or false."""
    return all(word in ("none", "false") or (NUMBER.fullmatch(word) and float(word) == 0) for word in text.split())
