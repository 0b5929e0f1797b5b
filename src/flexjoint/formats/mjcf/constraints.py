"""Equality constraints of a compiled MJCF: linear ones between joints are followers, others are refused by name.

    y − y_0 = a_0 + a_1 (x − x_0)      y follows x: y = a_1 x + (y_0 + a_0 − a_1 x_0)
    y − y_0 = a_0                      y does not move
    b x + c y = b x_0 + c y_0 + a_0    a fixed tendon of two joints, held at its length: y follows x

A constraint between parts that do not move against each other, because joints are locked or left out, has no effect.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, NamedTuple

from ...errors import RobotError, listed, quoted
from ..report import Note
from ..tree.choice import Tree
from ..tree.records import JointData, MimicData
from .bodies import scalar_joint
from .compiled import Compiled
from .source import described

CONNECT, WELD, JOINT, TENDON = range(4)  # MuJoCo's types of equalities
WRAP_JOINT = 1
BODY = 1  # MuJoCo's type of objects


class Follower(NamedTuple):
    """A joint that is ratio · leader + offset; held at the offset if the leader is None."""

    joint: int
    leader: int | None
    ratio: float
    offset: float


def with_followers(
    found: Compiled, joints: Mapping[str, JointData], note: Note
) -> tuple[dict[str, JointData], dict[str, float]]:
    """The joints with those that follow others, and positions of joints that a constraint holds."""
    names = found.names["joint"]
    made, held = dict(joints), {}
    for i in range(found.model.neq):
        x = follower(found.model, i)
        if x is None:
            continue
        element, name = found.elements["equality"][i], names[x.joint]
        if made[name].mimic is not None or name in held:
            raise element.wrong(f"joint '{quoted(name)}' is held by two constraints: remove one of them")
        if x.leader is None or x.ratio == 0:
            held[name] = x.offset
            note(element, described(element), f"joint '{name}' is held at {x.offset:g}", "chosen")
        else:
            made[name] = made[name]._replace(mimic=MimicData(names[x.leader], x.ratio, x.offset, element))
    if any(x.mimic is not None for x in made.values()):
        note(found.source.top, "<equality>", "MuJoCo's soft constraints between joints are taken as exact", "chosen")
    return made, held


def follower(model: Any, i: int) -> Follower | None:
    """The joint that an equality makes a linear function of another one, or holds; None if it does something else."""
    if not model.eq_active0[i]:
        return None
    kind, one, two = int(model.eq_type[i]), int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    a0, a1, *higher = model.eq_data[i][:5].tolist()
    if kind == JOINT and scalar_joint(model, one) and (two < 0 or (scalar_joint(model, two) and not any(higher))):
        y0 = reference(model, one)
        if two < 0:
            return Follower(one, None, 0.0, y0 + a0)
        return Follower(one, two, a1, y0 + a0 - a1 * reference(model, two))
    parts = fixed_tendon(model, one) if kind == TENDON and two < 0 else []
    if not 1 <= len(parts) <= 2 or not parts[-1][1] or not all(scalar_joint(model, j) for j, _ in parts):
        return None
    length = a0 + sum(coef * reference(model, j) for j, coef in parts)
    joint, coef = parts[-1]
    if len(parts) == 1 or joint == parts[0][0]:
        return Follower(joint, None, 0.0, length / coef) if len(parts) == 1 else None
    return Follower(joint, parts[0][0], -parts[0][1] / coef, length / coef)


def fixed_tendon(model: Any, tendon: int) -> list[tuple[int, float]]:
    """Joints and coefficients of a tendon whose length is a linear function of joints; empty for others."""
    at = range(model.tendon_adr[tendon], model.tendon_adr[tendon] + model.tendon_num[tendon])
    if any(int(model.wrap_type[k]) != WRAP_JOINT for k in at):
        return []
    return [(int(model.wrap_objid[k]), float(model.wrap_prm[k])) for k in at]


def reference(model: Any, j: int) -> float:
    """Position of a joint in the pose of the file."""
    return float(model.qpos0[model.jnt_qposadr[j]])


def check_constraints(found: Compiled, tree: Tree, moving: Container[str], note: Note) -> None:
    """Refuse the constraints that are not modelled, unless they have no effect on the joints that move."""
    model = found.model
    for i in range(model.neq):
        element = found.elements["equality"][i]
        if not model.eq_active0[i]:
            note(element, described(element), "a constraint that is not active at the start", "unused")
        if not model.eq_active0[i] or follower(model, i) is not None:
            continue
        joints = [x for x in constrained_joints(found, tree, i) if x in moving]
        if not joints:
            note(element, described(element), "it constrains parts that are locked or left out: no effect", "chosen")
            continue
        kind = {CONNECT: "a closed loop", WELD: "a closed loop", JOINT: "a nonlinear relation of joints"}
        why = kind.get(int(model.eq_type[i]), "a constraint between tendons or flexible bodies")
        last = quoted(joints[-1])
        raise RobotError(
            f"{element.file}, line {element.line}: {described(element)} is {why}, which is not modelled; it constrains "
            f"{listed(joints, most=6)}: lock them, locked={{{last!r}: 0}} or --locked {last}=0, leave them out with "
            "root= or tip=, or remove the constraint"
        )


def constrained_joints(found: Compiled, tree: Tree, i: int) -> list[str]:
    """Names of the joints whose motion a constraint may restrict."""
    model, names = found.model, found.names["joint"]
    kind, one, two = int(model.eq_type[i]), int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    if kind in (CONNECT, WELD):
        bodies = [x if int(model.eq_objtype[i]) == BODY else int(model.site_bodyid[x]) for x in (one, max(two, 0))]
        kept = {tree.root, *(x.child for x in tree.joints)}
        if not all(found.names["body"][x] in kept or x == 0 for x in bodies):
            return []
        paths = [set(joints_above(model, x)) for x in bodies]
        return [names[j] for j in sorted(paths[0] ^ paths[1])]
    if kind == JOINT:
        return [names[x] for x in (one, two) if x >= 0]
    if kind == TENDON:
        found_joints: set[int] = set()
        for x in (one, two):
            found_joints |= set(tendon_joints(model, x)) if x >= 0 else set()
        return [names[j] for j in sorted(found_joints)]
    return names


def joints_above(model: Any, body: int) -> list[int]:
    """The joints between the world and a body."""
    found: list[int] = []
    while body > 0:
        found += range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
        body = int(model.body_parentid[body])
    return found


def tendon_joints(model: Any, tendon: int) -> list[int]:
    """The joints that change the length of a tendon."""
    found: list[int] = []
    for k in range(model.tendon_adr[tendon], model.tendon_adr[tendon] + model.tendon_num[tendon]):
        kind, x = int(model.wrap_type[k]), int(model.wrap_objid[k])
        if kind == WRAP_JOINT:
            found.append(x)
        elif x >= 0 and kind != 2:  # sites, spheres and cylinders; 2 is a pulley
            body = model.site_bodyid[x] if kind == 3 else model.geom_bodyid[x]
            found += joints_above(model, int(body))
    return found
