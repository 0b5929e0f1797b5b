"""Names of the parameters and coordinates of a robot in equations: m_1, l_1, l_c1, I_1zz, K_1, g, q_1, v_1."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ...robot import Robot
from ...robot.parameters import Parameter, found_in


class Name(NamedTuple):
    """A symbol: as an identifier, and in LaTeX."""

    plain: str
    latex: str


FRICTION = {
    "viscous": ("d", ""),
    "coulomb": ("F", ""),
    "velocity": ("w", ""),
    "static": ("F", "s"),
    "stribeck_velocity": ("w", "s"),
    "load": ("mu", ""),
    "load_scale": ("T", ""),
}  # of a law: letter, and index; those of a motor have m before it, those of the backward law b behind it
FIELDS = {
    "viscous_friction": "d",
    "coulomb_friction": "F",
    "coulomb_velocity": "w",
    "parallel_spring.stiffness": "K_p",
    "parallel_spring.rest": "q_r",
    "mimic.ratio": "k",
    "mimic.offset": "c",
    "drive.stiffness": "K",
    "drive.damping": "D",
    "drive.motor.inertia": "B",
    "drive.motor.viscous_friction": "d_m",
    "drive.motor.coulomb_friction": "F_m",
    "drive.motor.coulomb_velocity": "w_m",
    "drive.motor.gear_ratio": "eta",
    "drive.motor.transverse_inertia": "I_t",
    "drive.motor.mass": "m_m",
    **{f"friction.{key}": f"{letter}_{index}".rstrip("_") for key, (letter, index) in FRICTION.items()},
    **{f"friction.backward.{key}": f"{letter}_{index}b" for key, (letter, index) in FRICTION.items()},
    **{f"drive.motor.friction.{key}": f"{letter}_m{index}" for key, (letter, index) in FRICTION.items()},
    **{f"drive.motor.friction.backward.{key}": f"{letter}_m{index}b" for key, (letter, index) in FRICTION.items()},
}  # of a joint: letter, with the joint's number behind it
LATEX = {"eta": r"\eta", "theta": r"\theta", "mu": r"\mu"}
DOTS = {"v": r"\dot{q}", "a": r"\ddot{q}", "q3": r"\dddot{q}", "theta_v": r"\dot{\theta}", "theta_a": r"\ddot{\theta}"}


def parameter_names(robot: Robot) -> dict[str, Name]:
    """A name per number of a robot, by the path of the element; no two are the same."""
    found: dict[str, Name] = {}
    taken: set[str] = set()
    numbers = {
        link.name: str(k + 1) if k is not None and link.joint.mimic is None else identifier(link.name)
        for link, k in zip(robot.links, robot.coordinates)
    }
    joints = {link.joint.name: link for link in robot.links}
    for path, parameter in found_in(robot).items():
        owner, _, field = path.partition(".")
        for element in parameter.elements:
            name = None
            if path == "gravity":
                name = only(parameter, element, "g", "") or indexed("g", axis(element))
            elif owner in numbers:
                name = link_name(field, element, parameter, numbers[owner])
            elif owner in joints:
                link = joints[owner]
                name = joint_name(field, element, parameter, numbers[link.name], numbers.get(link.parent, "0"))
            if name is None or name.plain in taken:
                own = numbers[joints[owner].name] if owner in joints else numbers.get(owner, "")
                name = indexed("p", own + axis(element)) if field == "position" else None
            if name is None or name.plain in taken:
                plain = identifier(element)
                name = Name(plain, rf"\mathrm{{{plain}}}".replace("_", r"\_"))
            taken.add(name.plain)
            found[element] = name
    return found


def link_name(field: str, element: str, parameter: Parameter, number: str) -> Name | None:
    """m_1; l_c1 of a centre of mass on an axis, else r_1x; I_1zz."""
    if field == "mass":
        return indexed("m", number)
    if field == "com":
        return only(parameter, element, "l", f"c{number}") or indexed("r", number + axis(element))
    return indexed("I", number + axis(element)) if field == "inertia" else None


def joint_name(field: str, element: str, parameter: Parameter, number: str, parent: str) -> Name | None:
    """l_1 for the distance of joint 2 from joint 1 along an axis, else p_2x; K_1, B_1 and so on."""
    if field == "position":
        return only(parameter, element, "l", parent) or indexed("p", number + axis(element))
    if field in FIELDS:
        letter, _, index = FIELDS[field].partition("_")
        return indexed(letter, index + number)
    return None


def only(parameter: Parameter, element: str, letter: str, index: str) -> Name | None:
    """The short name of a vector with one component that is not zero."""
    others = [x for path, x in parameter.numbers.items() if x and path != element]
    return None if others else indexed(letter, index)


def indexed(letter: str, index: str) -> Name:
    """letter_index."""
    latex = LATEX.get(letter, letter)
    return Name(f"{letter}_{index}", f"{latex}_{{{index}}}") if index else Name(letter, latex)


def axis(element: str) -> str:
    """The last part of a path: x, xy."""
    return element.rpartition(".")[2]


def identifier(text: str) -> str:
    """A text as a Python identifier."""
    plain = re.sub(r"\W", "_", text, flags=re.ASCII)
    return plain if re.match(r"[A-Za-z_]", plain) else f"x_{plain}"


def coordinate_names(array: str, count: int) -> Iterable[Name]:
    """Names of the elements of an input: q_1, v_1, q4_1; in LaTeX with dots."""
    for k in range(1, count + 1):
        if array in DOTS:
            latex = f"{DOTS[array]}_{{{k}}}"
        elif match := re.fullmatch(r"q(\d+)", array):
            latex = f"q_{{{k}}}^{{({match[1]})}}"
        else:
            word = LATEX.get(array) or (array if len(array) == 1 else rf"\mathrm{{{array}}}".replace("_", r"\_"))
            latex = f"{word}_{{{k}}}"
        yield Name(f"{array}_{k}", latex)
