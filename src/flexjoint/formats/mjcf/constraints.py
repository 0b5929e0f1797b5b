"""Equality constraints of a compiled MJCF: linear ones between joints are followers, others are refused by name.

    y − y_0 = a_0 + a_1 (x − x_0)      y follows x: y = a_1 x + (y_0 + a_0 − a_1 x_0)
    y − y_0 = a_0                      y does not move

A constraint between parts that do not move against each other, because joints are locked or left out, has no effect.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

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


def with_followers(
    found: Compiled, joints: Mapping[str, JointData], note: Note
) -> tuple[dict[str, JointData], dict[str, float]]:
    """The joints with those that follow others, and positions of joints that a constraint holds."""
    model, names = found.model, found.names["joint"]
    made, held = dict(joints), {}
    for i in range(model.neq):
        if not is_linear(model, i):
            continue
        element = found.elements["equality"][i]
        name, leader = names[model.eq_obj1id[i]], model.eq_obj2id[i]
        if made[name].mimic is not None or name in held:
            raise element.wrong(f"joint '{quoted(name)}' is held by two constraints: remove one of them")
        y0 = reference(model, model.eq_obj1id[i])
        a0, a1 = model.eq_data[i][:2].tolist()
        if leader < 0 or a1 == 0:
            held[name] = y0 + a0
            note(element, described(element), f"joint '{name}' is held at {y0 + a0:g}", "chosen")
        else:
            offset = y0 + a0 - a1 * reference(model, leader)
            made[name] = made[name]._replace(mimic=MimicData(names[leader], a1, offset, element))
    if any(x.mimic is not None for x in made.values()):
        note(found.source.top, "<equality>", "MuJoCo's soft constraints between joints are taken as exact", "chosen")
    return made, held


def is_linear(model: Any, i: int) -> bool:
    """Whether an equality makes one joint a linear function of another one, or holds it."""
    if int(model.eq_type[i]) != JOINT or not model.eq_active0[i]:
        return False
    pair = [x for x in (int(model.eq_obj1id[i]), int(model.eq_obj2id[i])) if x >= 0]
    linear = not any(model.eq_data[i][2:5]) or len(pair) == 1
    return linear and all(scalar_joint(model, x) for x in pair)


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
        if not model.eq_active0[i] or is_linear(model, i):
            continue
        joints = [x for x in constrained_joints(found, tree, i) if x in moving]
        if not joints:
            note(element, described(element), "no joint that it constrains moves: no effect", "chosen")
            continue
        kind = {CONNECT: "a closed loop", WELD: "a closed loop", JOINT: "no linear function"}
        why = kind.get(int(model.eq_type[i]), "a constraint between tendons or flexible bodies")
        raise RobotError(
            f"{element.file}, line {element.line}: {described(element)} is {why}, which is not modelled; it constrains "
            f"{listed(joints, most=6)}: lock them, locked={{{joints[-1]!r}: 0}} or --locked {joints[-1]}=0, leave them "
            "out with root= or tip=, or remove the constraint"
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
