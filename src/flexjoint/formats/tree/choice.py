"""The joints of a file that make up a robot: its root, a sub-chain, joints that are locked, and their order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ...checks import is_number
from ...errors import InputError, RobotError, listed, quoted, shown
from ..report import Note
from ..toml import suggestion
from .records import SEVERAL, JointData, LinkData

Locked: TypeAlias = "Mapping[str, float] | Iterable[str] | None"


class Tree(NamedTuple):
    """The chosen joints, parents first, otherwise in the order of the file."""

    root: str
    joints: list[JointData]


def locked_values(locked: Locked, joints: Mapping[str, JointData], place: str) -> dict[str, float]:
    """Position per locked joint, 0 where only names are given."""
    if locked is None:
        return {}
    if isinstance(locked, str):
        given_name = shown(locked)
        raise InputError(f"locked is {given_name}: give names in a list, or positions by name, {{{given_name}: 0.0}}")
    given = dict(locked) if isinstance(locked, Mapping) else dict.fromkeys(locked, 0.0)
    for name, value in given.items():
        if name not in joints:
            raise InputError(f"{place}: there is no joint {shown(name)} to lock; {suggestion(str(name), joints)}")
        if not is_number(value) or not abs(value) < 1e9:
            raise InputError(f"{place}: joint '{name}' cannot be locked at {shown(value)}: give rad or m")
        if value and joints[name].type not in ("revolute", "continuous", "prismatic"):
            kind = joints[name].type
            raise InputError(f"{place}: joint '{name}' is {kind}: it can be locked at 0 only, in the pose of the file")
    return {name: float(value) for name, value in given.items()}


def followers_locked(joints: Mapping[str, JointData], locked: Mapping[str, float]) -> dict[str, float]:
    """Locked joints, with those that follow a joint that is locked or fixed."""
    found = dict(locked)
    for joint in joints.values():
        path: list[JointData] = []
        while joint.mimic is not None and joint.name not in found and joint not in path and joint.type != "fixed":
            path.append(joint)
            if joint.mimic.joint not in joints:
                leader = quoted(joint.mimic.joint)
                message = f"joint '{quoted(joint.name)}' follows the joint '{leader}', which the file does not have"
                raise joint.mimic.element.wrong(f"{message}; {suggestion(joint.mimic.joint, joints)}")
            joint = joints[joint.mimic.joint]
        if joint.name in found or joint.type == "fixed":
            value = found.get(joint.name, 0.0)
            for x in reversed(path):
                value = x.mimic.multiplier * value + x.mimic.offset  # type: ignore[union-attr]
                found[x.name] = value
    return found


def chosen_tree(
    links: Mapping[str, LinkData],
    joints: Sequence[JointData],
    locked: Mapping[str, float],
    root: str | None,
    tip: str | None,
    place: str,
    note: Note,
) -> Tree:
    """The joints between root and tip with all that is rigidly fixed to them; without a tip all below the root."""
    above: dict[str, JointData] = {}  # the joint on which a link hangs
    below: dict[str, list[int]] = {}
    for i, joint in enumerate(joints):
        for end in (joint.parent, joint.child):
            if end not in links:
                missing = f"joint '{quoted(joint.name)}' joins the link '{quoted(end)}', which the file does not have"
                raise joint.element.wrong(f"{missing}: correct the name, or add the <link>; {suggestion(end, links)}")
        if joint.child in above:
            other = above[joint.child]
            raise joint.element.wrong(
                f"link '{quoted(joint.child)}' hangs on two joints, '{quoted(other.name)}' (line {other.element.line}) "
                f"and '{quoted(joint.name)}': a closed loop, which is not modelled; remove one of them"
            )
        above[joint.child] = joint
        below.setdefault(joint.parent, []).append(i)
    for what, name in (("root", root), ("tip", tip)):
        if name is not None and name not in links:
            raise InputError(f"{place}: there is no link {shown(name)} for {what}; {suggestion(str(name), links)}")
    start = root if root is not None else single_root(links, above, place)
    order: list[JointData] = []
    waiting = list(below.get(start, []))
    heapq.heapify(waiting)
    while waiting:
        i = heapq.heappop(waiting)
        order.append(joints[i])
        if joints[i].child != start:  # the chosen root may itself hang in a cycle
            for k in below.get(joints[i].child, []):
                heapq.heappush(waiting, k)
    if root is None and len(order) < len(joints):
        refuse_cycle(above, {start, *(x.child for x in order)}, place)
    kept = order if tip is None else sub_chain(order, above, start, tip, links, locked, place, note)
    check_types(kept, locked)
    return Tree(start, kept)


def single_root(links: Mapping[str, LinkData], above: Mapping[str, JointData], place: str) -> str:
    """The only link that hangs on no joint."""
    roots = [name for name in links if name not in above]
    if not roots:
        refuse_cycle(above, set(), place)
    if len(roots) > 1:
        raise RobotError(
            f"{place}: {len(roots)} links have no parent joint, {listed(roots, most=6)}: a robot has one root; connect "
            f"them by fixed joints, or take the part below one of them, root={quoted(roots[0])!r} or --root "
            f"{quoted(roots[0])}"
        )
    return roots[0]


def refuse_cycle(above: Mapping[str, JointData], placed: set[str], place: str) -> None:
    """Name the joints of a cycle: one that no root carries."""
    link = next(name for name in above if name not in placed)
    chain: dict[str, None] = {}
    while link not in chain and link in above:
        chain[link] = None
        link = above[link].parent
    names = list(chain)
    cycle = [*names[names.index(link) :], link] if link in chain else names
    line = above[cycle[0]].element.line
    path = listed(cycle[::-1], mark=" -> ", most=8)
    raise RobotError(f"{place}, line {line}: the joints form a cycle, {path}: no link of it is fixed to a root")


def sub_chain(
    order: Sequence[JointData],
    above: Mapping[str, JointData],
    root: str,
    tip: str,
    links: Mapping[str, LinkData],
    locked: Mapping[str, float],
    place: str,
    note: Note,
) -> list[JointData]:
    """The joints from the root to the tip, with links fixed to them; what else hangs there is left out and reported."""
    chain: set[str] = set()
    link = tip
    while link != root:
        if link not in above or link in chain:
            raise InputError(f"{place}: link '{tip}' is not below '{root}': choose another root or tip")
        chain.add(link)
        link = above[link].parent
    carried, kept, lost = {root, *chain}, [], 0.0
    for joint in order:
        if joint.child in chain or (joint.parent in carried and is_fixed(joint, locked)):
            carried.add(joint.child)
            kept.append(joint)
        else:
            lost += links[joint.child].mass
            if joint.parent in carried:
                note(joint.element, f"<joint> '{joint.name}'", "not between root and tip: left out", "chosen")
    if lost:
        note(links[tip].element, f"tip '{tip}'", f"{lost:.4g} kg hang beside the chain and are left out", "chosen")
    return kept


def is_fixed(joint: JointData, locked: Mapping[str, float]) -> bool:
    """Whether a joint does not move, by its type or because it is locked."""
    return joint.type == "fixed" or joint.name in locked


def check_types(joints: Iterable[JointData], locked: Mapping[str, float]) -> None:
    """Refuse joints with several coordinates, and unknown types."""
    for joint in joints:
        if joint.name in locked or joint.type in ("revolute", "continuous", "prismatic", "fixed"):
            continue
        name = quoted(joint.name)
        if joint.type in SEVERAL:
            raise joint.element.wrong(
                f"joint '{name}' is {quoted(joint.type)}, which is not modelled: joints turn about an axis or slide "
                f"along it; lock this one, locked={{{name!r}: 0}} or --locked {name}=0, or take the part below it with "
                f"root={quoted(joint.child)!r} or --root {quoted(joint.child)}"
            )
        raise joint.element.wrong(
            f"joint '{name}' is of type {shown(joint.type)}: use one of revolute, continuous, prismatic and fixed"
        )
