"""Robots as files describe them, against a second reading of the same tables that knows 4×4 poses alone.

Chains of both DH conventions and trees; turning and sliding joints, rigid, elastic and direct drives, motors on any
link, gear ratios of either sign, friction; a wrench on the tool, a base that moves, and all their derivatives.
"""

import json
import math

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.formats.robot_files import parse_robot
from flexjoint.robot.random_robots import random_body, random_rotation
from support.errors import relative_error
from support.evaluate import evaluate
from support.homogeneous import Reference, rate, series
from support.motors import forward

TOLERANCE = 1e-11


def table(seed, convention, kinds, drives, *, fidelity="complete", anywhere=False):
    """A random robot; `kinds` of R, P and F, `drives` one a moving joint; motors on the parent links, or `anywhere`."""
    rng = np.random.default_rng(seed)
    given, rows = iter(drives), []
    names = [f"link{i + 1}" for i in range(len(kinds))]
    for i, letter in enumerate(kinds):
        above = ["base", *names][i if convention != "frames" else int(rng.integers(i + 1))]
        mass, com, inertia = random_body(rng)
        row = {"name": names[i], "kind": {"R": "revolute", "P": "prismatic", "F": "fixed"}[letter], "mass": mass}
        row |= {"com": com.tolist(), "inertia": inertia.tolist()}
        if convention == "frames":
            row |= {"parent": above, "position": rng.uniform(-0.4, 0.4, 3).tolist(), "rpy": rng.normal(size=3).tolist()}
        else:
            row |= {key: float(rng.uniform(-0.6, 0.6)) for key in ("alpha", "a", "d", "theta")}
        kind = next(given) if letter != "F" else "none"
        if letter != "F":
            row["viscous_friction"] = float(rng.uniform(0.1, 0.5))
        if kind != "none":
            carrier = str(rng.choice(["base", *names])) if anywhere else above
            row["drive"] = {"kind": kind, **motor(rng, carrier)}
        if kind == "elastic":
            row["drive"]["stiffness"] = float(rng.uniform(60.0, 600.0))
        rows.append(row)
    gravity = (random_rotation(rng) @ [0.0, 0.0, 9.81]).tolist()
    top = {"name": f"raw_{seed}", "convention": convention, "gravity": gravity, "fidelity": fidelity}
    return {**top, "rotors_in_links": False, "link": rows}


def motor(rng, carrier):
    return {
        "motor_axial_inertia": float(rng.uniform(0.03, 0.1)),
        "motor_gear_ratio": float(rng.choice([-1, 1]) * rng.uniform(2.0, 6.0)),
        "motor_transverse_inertia": float(rng.uniform(0.02, 0.1)),
        "motor_mass": float(rng.uniform(0.2, 0.7)),
        "motor_position": rng.uniform(-0.1, 0.1, 3).tolist(),
        "motor_axis": random_rotation(rng)[:, 2].tolist(),
        "motor_carrier": carrier,
        "motor_viscous_friction": float(rng.uniform(0.1, 0.5)),
    }


def toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(x)}" for key, x in value.items()) + "}"
    return "[" + ", ".join(map(toml, value)) + "]" if isinstance(value, list) else json.dumps(value)


def read(tables):
    return parse_robot("".join(f"{key} = {toml(x)}\n" for key, x in tables.items()).encode(), "raw.toml")


CHAIN = table(1, "standard_dh", "RPRR", ["elastic", "rigid", "elastic", "elastic"])
CRAIG = table(2, "modified_dh", "RRPR", ["elastic", "elastic", "none", "elastic"])
SPRINGS = ["elastic"] * 4
TREE = table(3, "frames", "RFRRPR", ["elastic", "rigid", "elastic", "elastic", "none"])
ANYWHERE = [
    table(4, "standard_dh", "RRPR", ["elastic", "rigid", "elastic", "elastic"], anywhere=True),
    table(5, "frames", "RFRPRR", ["elastic", "elastic", "rigid", "none", "elastic"], anywhere=True),
]


def each(tables):
    return pytest.mark.parametrize("tables", tables, ids=[x["name"] for x in tables])


def surroundings(rng, robot, length):
    """A wrench on the last link and a moving base: as the library takes them, and as the reference does."""
    wrench, omega, a = rng.normal(size=(length, 6)), rng.normal(size=(length + 1, 3)), rng.normal(size=(length, 3))
    theirs = {"wrench": (len(robot.links) - 1 - (robot.tool == "tool"), wrench), "base": (omega, a)}
    return {"wrenches": {robot.tool: list(wrench)}, "base": fj.BaseMotion(list(omega), list(a))}, theirs


@pytest.mark.parametrize("fidelity", ["complete", "spong"])
@each([CHAIN, CRAIG, TREE])
def test_inverse_dynamics(tables, fidelity):
    tables = {**tables, "fidelity": fidelity}
    robot, reference = read(tables), Reference(tables)
    rng = np.random.default_rng(1)
    order = fj.dynamics.derivative_orders(robot, moving_base=True).motion
    stack = rng.normal(size=(order + 1, robot.n))
    ours, theirs = surroundings(rng, robot, order - 1)
    found = evaluate(fj.motor_motion, robot, *stack, **ours)
    for key, expected in reference.inverse_dynamics(stack, **theirs).items():
        assert relative_error(getattr(found, key), expected) < TOLERANCE, key


def forces(reference, q, theta, **around):
    """On links and motors, with friction, from [q, q', q''] and [θ, θ', θ'']."""
    on_links, on_motors = (x[0] for x in reference.forces(series(q, 3), series(theta, 3), **around))
    behind = reference.elastic
    return on_links + (reference.D + ~behind * reference.D_m) * q[1], on_motors + behind * reference.D_m * theta[1]


@each([CHAIN, *ANYWHERE, *({**x, "fidelity": "spong"} for x in ANYWHERE)])
def test_generalized_forces_and_forward_dynamics(tables):
    robot, reference = read(tables), Reference(tables)
    rng = np.random.default_rng(2)
    q, theta = rng.normal(size=(2, 3, robot.n))
    ours, theirs = surroundings(rng, robot, 1)
    on_links, on_motors = forces(reference, q, theta, **theirs)
    elastic, K = reference.elastic, reference.K
    found = evaluate(fj.dynamics.generalized_forces, robot, q[0], q[1], theta[0], theta[1], q[2], theta[2], **ours)
    assert relative_error(found.tau_e, on_links) < TOLERANCE
    expected = np.where(elastic, on_motors + K * (theta[0] - q[0]), on_links)
    assert relative_error(found.tau, expected) < TOLERANCE
    # springs deflected as the links need it: these accelerations come back
    theta[0] = q[0] + on_links / K
    tau = np.where(elastic, on_motors, 0.0) + on_links
    back = evaluate(forward, robot, q[0], q[1], theta[0], theta[1], tau, **ours)
    assert relative_error(back.a, q[2]) < TOLERANCE
    assert relative_error(back.theta_a[elastic], theta[2][elastic]) < TOLERANCE


@each(
    [table(6, "modified_dh", "RPRR", SPRINGS, fidelity="spong"), table(7, "frames", "RFRPR", SPRINGS, fidelity="spong")]
)
def test_feedback_linearization(tables):
    """The torque of a motion from its state alone: q, q', and the springs' torques with their rates."""
    robot, reference = read(tables), Reference(tables)
    rng = np.random.default_rng(3)
    stack = rng.normal(size=(5, robot.n))
    ours, theirs = surroundings(rng, robot, 3)
    q = series(stack, 5)
    tau_e = reference.forces(q, q, **theirs).links + reference.D * rate(q)[:-1]
    state = [*stack[:2], tau_e[0], tau_e[1]]
    motion = evaluate(fj.dynamics.link_motion, robot, *state, **ours)
    assert relative_error(motion.a, stack[2]) < TOLERANCE
    assert relative_error(motion.jerk, stack[3]) < TOLERANCE
    expected = reference.inverse_dynamics(stack, **theirs)["tau"]
    found = evaluate(fj.feedback_linearization, robot, *state, stack[4], measured="q tau_e", **ours)
    assert relative_error(found, expected) < TOLERANCE


def test_tables_and_files_make_one_robot():
    """`from_dh` with its columns, files with their keys in any order, angles in degrees to rounding."""
    for tables in (CHAIN, CRAIG):
        robot = read(tables)
        columns = {key: [row[key] for row in tables["link"]] for key in ("alpha", "a", "d", "theta", "mass", "com")}
        drives = [fj_drive(row) for row in tables["link"]]
        made = fj.from_dh(
            tables["name"],
            **columns,
            kinds="".join(row["kind"][0].upper() for row in tables["link"]),
            convention=tables["convention"].removesuffix("_dh"),
            inertia=[row["inertia"] for row in tables["link"]],
            viscous_friction=[row["viscous_friction"] for row in tables["link"]],
            drives=drives,
            gravity=tables["gravity"],
            fidelity="complete",
            rotors_in_links=False,
        )
        assert made == robot
        backwards = {key: tables[key] for key in reversed(tables)}
        backwards["link"] = [{key: row[key] for key in reversed(row)} for row in tables["link"]]
        assert read(backwards) == robot
        turned = [
            {**row, **{f"{key}_deg": math.degrees(row[key]) for key in ("alpha", "theta")}} for row in tables["link"]
        ]
        for row in turned:
            del row["alpha"], row["theta"]
        for one, other in zip(read({**tables, "link": turned}).links, robot.links, strict=True):
            np.testing.assert_allclose(one.joint.rotation, other.joint.rotation, rtol=0, atol=1e-15)
            np.testing.assert_allclose(one.com, other.com, rtol=0, atol=1e-15)


def fj_drive(row):
    drive = {key.removeprefix("motor_"): x for key, x in row.get("drive", {"kind": "none"}).items()}
    kind, stiffness = drive.pop("kind"), drive.pop("stiffness", None)
    if kind == "none":
        return None
    made = fj.Motor.from_rotor(drive.pop("axial_inertia"), drive.pop("gear_ratio"), **drive)
    return fj.ElasticDrive(stiffness, made) if kind == "elastic" else fj.RigidDrive(made)
