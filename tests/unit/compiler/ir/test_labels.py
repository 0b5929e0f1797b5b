"""Labels of values: the Program is the same with and without them, and a value is what its label says."""

import re
from dataclasses import replace

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import flexjoint as fj
from flexjoint.compiler.c.reading import by_sections, sections_of
from flexjoint.compiler.ir.labels import Label, Section, active, labelled, labelling
from flexjoint.compiler.ir.packing import LANES
from flexjoint.compiler.ir.program import Array
from flexjoint.compiler.ir.reference import evaluate
from flexjoint.compiler.ir.scan import scan, tracing
from flexjoint.compiler.pipeline import trace
from flexjoint.dynamics.recursion import packed_jets
from support.pinocchio_model import pinocchio_model, pinocchio_order

LWR = fj.load("kuka_lwr")
TREE = fj.random_robot(5, seed=3, tree=True, elastic=1.0, name="tree")
CALLS = {
    "rigid": (fj.inverse_dynamics, LWR.without_drives(), {}),
    "packed": (fj.inverse_dynamics, LWR, {}),
    "tree": (fj.inverse_dynamics, TREE, {}),
    "wrench": (fj.inverse_dynamics, TREE.without_drives(), {"wrenches": {TREE.links[-1].name: 1}}),
    "variable stiffness": (fj.inverse_dynamics, fj.load("vsa_3r"), {"stiffness": 3}),
    "mixed": (fj.motor_motion, fj.load("hua_3r"), {}),
    "mass matrix": (fj.mass_matrix, LWR, {}),
    "forward": (fj.forward_dynamics, LWR, {}),
    "free": (fj.inverse_dynamics, TREE.without_drives(), {"free": ("*.mass",)}),
    "derivatives": (fj.inverse_dynamics, TREE.without_drives(), {"derivatives": [("tau", "link1.mass")]}),
    "loop": (fj.inverse_dynamics, fj.random_robot(21, seed=1, prismatic=0.0, elastic=1.0), {"wrenches": {"link1": 3}}),
}


def with_and_without(name):
    algorithm, robot, keywords = CALLS[name]
    structure = algorithm.structure(robot, **keywords)
    plain, _ = algorithm.trace(robot, structure)
    with labelling():
        labelled_program, _ = algorithm.trace(robot, structure)
    assert active() is None
    return plain, labelled_program


@pytest.mark.parametrize("name", CALLS)
def test_the_program_is_the_same_with_labels(name):
    plain, program = with_and_without(name)
    assert not plain.labels and not plain.sections
    assert str(program) == str(plain) and str(program.packed) == str(plain.packed)
    assert all(program.code[i].computed for i in program.labels)
    assert len(program.labels) > 20 or name in ("derivatives", "loop")


@pytest.mark.parametrize("name", CALLS)
def test_sections_give_a_valid_order(name):
    _, program = with_and_without(name)
    ordered = by_sections(program)
    found = sections_of(ordered)
    assert found == sorted(found) and ordered.counts == program.counts
    assert all(x < i for i, op in enumerate(ordered.code) for x in op.operands)
    names, same = (sorted((label, x.code[i].name) for i, label in x.labels.items()) for x in (program, ordered))
    assert same == names


def labelled_values(program, arrays):
    """Every labelled value at one state, those with a changed sign turned back."""
    outputs = (Array("all", (len(program.labels),)),)
    (found,) = evaluate(replace(program, outputs=outputs, results=(tuple(program.labels),)), *arrays)
    texts = [label.text for label in program.labels.values()]
    return {x.removeprefix("minus_"): -y if x.startswith("minus_") else y for x, y in zip(texts, found)}


@pytest.mark.parametrize("name", ["rigid", "packed", "tree"])
def test_labelled_velocities_and_accelerations(name):
    """Those of Pinocchio, in the frames of the links."""
    _, program = with_and_without(name)
    robot = CALLS[name][1]
    arrays = np.random.default_rng(0).uniform(-1.0, 1.0, (len(program.inputs), robot.n))
    values = labelled_values(program, arrays)
    model, order = pinocchio_model(robot.without_drives()), pinocchio_order(robot)
    data = model.createData()
    pin.forwardKinematics(model, data, *(x[order] for x in arrays[:3]))
    place = {int(k): 1 + i for i, k in enumerate(order)}
    seen = 0
    for text, value in values.items():
        if match := re.fullmatch(r"(omega|a)_(\d+)_([xyz])(_d1)?", text):
            quantity, link, axis, rate = match.groups()
            motion = (data.a if rate else data.v)[place[int(link) - 1]]
            expected = motion.angular["xyz".index(axis)]
            if quantity == "a":
                if rate:
                    continue
                joint = place[int(link) - 1]
                acceleration = pin.getClassicalAcceleration(model, data, joint, pin.LOCAL).linear
                expected = (acceleration - data.oMi[joint].rotation.T @ robot.gravity)["xyz".index(axis)]
            assert value == pytest.approx(expected, abs=1e-12), text
            seen += 1
    assert seen > 20


def test_labelled_derivatives_of_packed_jets():
    """In the lanes of packed values stand derivatives: each is the rate of the one before."""
    assert [LANES.index(f"lane{packed_jets.LANES[k]}") for k in range(3)] == [0, 2, 1]
    assert [Label(0, "x").lane(packed_jets.LANES[k]).order for k in range(3)] == [0, 1, 2]
    assert Label(0, "x").lane(packed_jets.ZERO) is None
    _, program = with_and_without("packed")
    stack = np.random.default_rng(1).uniform(-1.0, 1.0, (8, 7))
    h, factorial = 1e-5, np.cumprod([1.0, *range(1, 8)])

    def at(t):
        jets = [sum(stack[k + j] * t**j / factorial[j] for j in range(8 - k)) for k in range(5)]
        return labelled_values(program, jets)

    before, now, after = at(-h), at(0.0), at(h)
    rates = {name: (after[name] - before[name]) / (2 * h) for name in now}
    pairs = [(x, f"{x}_d1") for x in now] + [(f"{x}_d1", f"{x}_d2") for x in now]
    pairs = [(x, y) for x, y in pairs if x in now and y in now]
    assert len(pairs) > 100
    for x, y in pairs:
        assert now[y] == pytest.approx(rates[x], rel=1e-5, abs=1e-6), (x, y)


def test_drives_are_labelled():
    _, program = with_and_without("packed")
    titles = [section.title for section in program.sections]
    assert titles == ["outward sweep"] * 7 + ["inward sweep"] * 7 + ["drive"] * 7
    assert {"theta_3_d2", "motor_torque_3"} <= {label.text for label in program.labels.values()}
    _, program = with_and_without("variable stiffness")
    texts = {label.text for label in program.labels.values()}
    for k in range(1, 7):
        assert {f"deflection_{k}_d1", f"theta_{k}_d2", f"spring_torque_{k}", f"motor_torque_{k}"} <= texts


def traced(function):
    x = ca.SX.sym("x", 2)
    with labelling(), tracing() as definitions:
        outputs = function(x)
        return trace("f", [(Array("x", (2,)), x)], [(Array("y", outputs.shape[:1]), outputs)], definitions)


def test_what_survives_keeps_its_label():
    def function(x):
        product, dead = x[0] * x[1], ca.sin(x[0])
        total = product + 1.0
        labelled(Section("part", 0), {"p": product, "dead": dead, "t": total, "one": ca.SX(1.0), "input": x[0]})
        labelled(Section("again"), {"same": total, "all": ca.vertcat(total, -ca.cos(x[1]))})
        return ca.vertcat(total, 3.0 - ca.cos(x[1]))

    program = traced(function)
    assert [program.code[i].name for i in program.labels] == ["fma", "cos"]  # the product is fused with the sum
    assert [label.text for label in program.labels.values()] == ["t_1", "minus_all_y"]


def test_labels_in_a_loop_are_left_out():
    def function(x):
        def step(carry, y):
            labelled(Section("turn", 0), {"c": carry * y})
            return carry * y, carry

        last, _ = scan(step, x[0], [x[1], 2 * x[1], x[0] + 1])
        return last

    assert not traced(function).labels
