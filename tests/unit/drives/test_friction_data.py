"""Friction as data: what is refused and why, files, other robots, compensation, free numbers, exported code."""

import ctypes
import dataclasses
import shutil
import subprocess
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest
import sympy

import flexjoint as fj
from flexjoint.analysis.equations.notation import parameter_names
from flexjoint.compiler.c import export as c
from flexjoint.compiler.ir.reference import evaluate as interpret
from flexjoint.control import FrictionCompensation, JointState
from flexjoint.drives import Friction
from flexjoint.robot import robot_parameters
from support.evaluate import evaluate
from support.friction import law, with_friction
from support.programs import same_bits

STRIBECK = Friction(1.0, 4.0, 0.02, static=6.0, stribeck_velocity=0.1)
LOADED = dataclasses.replace(STRIBECK, load=0.05, load_scale=1.0, backward=Friction(2.0, 3.0, load=0.1))


def one(at_joint=None, at_motor=None, drive=fj.ElasticDrive, **short):
    motor = fj.Motor(0.3, friction=at_motor)
    drive = fj.ElasticDrive(500.0, motor) if drive is fj.ElasticDrive else drive(motor)
    joint = fj.Joint("hip", drive=drive, friction=at_joint, **short)
    return fj.Robot("leg", (fj.Link("leg", joint, mass=1.0, com=(0.1, 0, 0), inertia=0.1 * np.eye(3)),))


def changed(**fields):
    return dataclasses.replace(STRIBECK, **fields)


@pytest.mark.parametrize(
    ("friction", "message"),
    [
        (changed(viscous=-1.0), "friction of joint 'hip' has viscous = -1: it must not be negative"),
        (changed(coulomb=float("nan")), r"friction.coulomb of 'hip'.*nan"),
        (changed(velocity=float("inf")), r"friction.velocity of 'hip'.*inf"),
        (changed(coulomb="much"), r"friction.coulomb of 'hip' is 'much': it must be a number"),
        (changed(static=3.0), "has static = 3 below coulomb = 4.*exchange them, or omit static"),
        (changed(stribeck_velocity=0.0), "static = 6 without stribeck_velocity: give the velocity"),
        (changed(velocity=0.0), "has coulomb friction without velocity: give the velocity.*tanh"),
        (Friction(viscous=1.0, backward=Friction(2.0)), "has a law for each direction without velocity"),
        (Friction(backward=Friction(static=2.0, stribeck_velocity=1.0)), "has static friction without velocity"),
        (changed(load=1.0, load_scale=1.0), "load = 1: it must be below 1"),
        (changed(load=0.1), "depends on the load without load_scale"),
        (changed(backward=Friction(load=0.1)), "depends on the load without load_scale"),
        (changed(backward=Friction(1.0, backward=Friction())), "backward law inside its backward law"),
        (changed(backward=Friction(1.0, velocity=0.1)), "has velocity in its backward law: leave it out"),
        (changed(backward=Friction(load=0.1, load_scale=0.1), load_scale=1.0), "load_scale in its backward law"),
        (changed(backward=3.0), r"has backward = 3.0: give drives.Friction\("),
        (changed(backward=Friction(coulomb=-1.0)), "backward, has coulomb = -1: it must not be negative"),
        (changed(backward=Friction(coulomb=np.ones(2))), "backward.coulomb of 'hip' is .*it must be a number"),
        (changed(coulomb=Fraction(1, 2)), r"friction.coulomb of 'hip' is Fraction\(1, 2\): it must be a number"),
        (2.0, r"friction of joint 'hip' is 2.0: give drives.Friction\("),
    ],
)
def test_what_is_refused(friction, message):
    with pytest.raises(fj.RobotError, match=message):
        one(at_motor=friction)
    with pytest.raises(fj.RobotError, match=message):
        one(at_joint=friction)


def test_load_needs_a_spring():
    rigid = r"motor friction of joint 'hip' depends on the load \(load = 0.05\).*at a rigid joint.*spring.*at_load"
    with pytest.raises(fj.RobotError, match=rigid):
        one(at_motor=LOADED, drive=fj.RigidDrive)
    for given in (LOADED, changed(backward=Friction(load=0.1), load_scale=1.0)):
        for drive in (fj.RigidDrive, lambda motor: None):
            with pytest.raises(fj.RobotError, match=r"friction of joint 'hip'.* depends .*at a rigid joint.*at_load"):
                one(at_joint=given, drive=drive)
    follower = fj.Joint("knee", friction=LOADED, mimic=fj.robot.Mimic("hip"))
    with pytest.raises(fj.RobotError, match=r"friction of joint 'knee' depends on the load .*at_load"):
        fj.Robot("leg", (*one().links, fj.Link("shank", follower, "leg", mass=1.0, inertia=0.1 * np.eye(3))))
    robot = one(LOADED, LOADED)
    assert robot.joints[0].friction is LOADED and robot.joints[0].drive.motor.friction is LOADED
    for other in (robot.rigid(), robot.without_drives()):
        assert other.joints[0].friction == LOADED.at_load(0.0)


@pytest.mark.parametrize("short", ["viscous_friction", "coulomb_friction", "coulomb_velocity"])
def test_both_forms_at_once_are_refused(short):
    words = short.replace("_", " ")
    with pytest.raises(fj.RobotError, match=rf"joint 'hip' has {words} beside a friction: give Friction\("):
        one(at_joint=STRIBECK, **{short: 1.0})
    motor = fj.Motor(1.0, friction=STRIBECK, **{short: 1.0})
    with pytest.raises(fj.RobotError, match=rf"has motor {words} beside a motor friction"):
        one().with_drives([fj.RigidDrive(motor)])


def test_files(tmp_path):
    """Written and read with the same bits; by hand in both conventions; unknown and nested keys are named."""
    robot = with_friction(fj.random_robot(4, 3, elastic=1.0, tree=True), 1)
    assert any(joint.friction.backward for joint in robot.joints)
    fj.write_robot(robot, tmp_path / "robot.toml")
    assert fj.load(tmp_path / "robot.toml") == robot
    law = "{viscous = 1.0, coulomb = 4.0, velocity = 0.02, static = 6.0, stribeck_velocity = 0.1%s}"
    motor = law % ", load = 0.05, load_scale = 1.0, backward = {viscous = 2.0, coulomb = 3.0, load = 0.1}"
    text = f"""name = "leg"
        convention = "%s"
        [[link]]
        name = "leg"
        mass = 1.0
        inertia = {{xx = 0.1, yy = 0.1, zz = 0.1}}
        friction = {law % ""}
        drive = {{kind = "elastic", stiffness = 500, motor_inertia = 0.3, motor_friction = {motor}}}
    """
    for convention in ("standard_dh", "frames"):
        (tmp_path / "leg.toml").write_text(text % convention)
        joint = fj.load(tmp_path / "leg.toml").joints[0]
        assert (joint.friction, joint.drive.motor.friction) == (STRIBECK, LOADED)
    for wrong, message in (
        (("static", "statik"), "motor_friction: unknown key 'statik'; did you mean 'static'"),
        (("backward = {", "backward = {backward = {}, "), "motor_friction, backward: unknown key 'backward'"),
        (("velocity = 0.02", 'velocity = "slow"'), "velocity must be a number, not 'slow'"),
    ):
        (tmp_path / "leg.toml").write_text((text % "frames").replace(*wrong))
        with pytest.raises(fj.RobotError, match=message):
            fj.load(tmp_path / "leg.toml")


def test_other_robots():
    """Without friction, with rigid springs, and with another velocity."""
    robot = one(STRIBECK, LOADED)
    smooth = robot.without_friction()
    assert smooth.joints[0].friction is None and smooth.joints[0].drive.motor.friction is None
    assert robot.rigid().joints[0].drive.motor.friction == changed(backward=Friction(2.0, 3.0))
    at = LOADED.at_load(-np.sqrt(8.0))  # √(8 + 1) − 1 = 2
    assert (at.coulomb, at.static, at.backward.coulomb, at.load_scale) == pytest.approx((4.1, 6.1, 3.2, 0.0))
    pair = fj.drives.AntagonisticDrive(
        fj.springs.CubicSpring(200.0, 700.0),
        fj.springs.CubicSpring(200.0, 700.0),
        fj.Motor(0.4, friction=LOADED),
        fj.Motor(0.5, 0.5, 1.0, 0.02),
    )
    stiff = one().with_drives([pair]).rigid().joints[0].drive.motor
    v, both = 0.03, [LOADED.at_load(0.0), Friction(0.5, 1.0, 0.02)]
    assert law(stiff.friction, v, m=np) == pytest.approx(sum(law(x, v, m=np) for x in both), rel=1e-14)
    assert law(stiff.friction, -v, m=np) == pytest.approx(sum(law(x, -v, m=np) for x in both), rel=1e-14)
    other = dataclasses.replace(pair, motor_2=fj.Motor(0.5, friction=changed(velocity=0.03)))
    with pytest.raises(fj.RobotError, match=r"'hip' cannot be made rigid.*Coulomb velocities, \[0.02, 0.03\]"):
        one().with_drives([other]).rigid()


@pytest.mark.parametrize("velocity", ["desired", "measured"])
def test_compensation_is_the_friction_of_the_model(velocity):
    """At the load of the springs; exact at the measured velocity: the plant moves as one without friction."""
    robot = with_friction(
        fj.random_robot(3, 3, prismatic=0.0).with_drives(
            [fj.ElasticDrive(300.0, fj.Motor(0.3)), fj.RigidDrive(fj.Motor(0.2)), fj.ElasticDrive(200.0, fj.Motor(0.5))]
        )
    )
    links = [dataclasses.replace(x, joint=dataclasses.replace(x.joint, friction=None)) for x in robot.links]
    robot = robot.replace(links=links)
    inner = fj.control.MotorPD(robot, [200.0, 20.0])
    compensated = FrictionCompensation(inner, velocity)
    q, v, theta, theta_v, q_d, v_d = 0.3 * np.random.default_rng(0).normal(size=(6, 3))
    state = JointState(q, v, theta, theta_v)
    tau, without = compensated((), [q_d, v_d], state)[1], inner((), [q_d], state)[1]
    at = v_d if velocity == "desired" else np.where(robot.compliant, theta_v, v)
    loads = [getattr(joint.drive, "stiffness", 0.0) * x for joint, x in zip(robot.joints, theta - q)]
    expected = [law(joint.drive.motor.friction, x, y, np) for joint, x, y in zip(robot.joints, at, loads)]
    np.testing.assert_allclose(tau - without, expected, rtol=1e-12)
    if velocity == "measured":
        found = evaluate(fj.forward_dynamics, robot, *state, tau)
        smooth = evaluate(fj.forward_dynamics, robot.without_friction(), *state, without)
        np.testing.assert_allclose(np.hstack(found), np.hstack(smooth), rtol=1e-10)


def test_spring_torques_from_motor_encoders_refuse_load():
    for observer in (fj.observers.SpringTorqueObserver, lambda x, k: fj.observers.MotorEncoderResidual(x, k, 3 * k)):
        with pytest.raises(fj.InputError, match=r"motor friction of joint 'hip' depends on the load.*at_load"):
            observer(one(at_motor=LOADED), 30.0)
        observer(one(at_motor=LOADED.at_load(5.0)), 30.0)


def test_paths():
    """Every number that is used is a parameter; kernels with free numbers agree with robots that have them."""
    robot = one(LOADED, LOADED)
    found = robot_parameters(robot)
    own = {x: p.unit for x, p in found.items() if "friction" in x}
    units = {
        "viscous": "Nm s/rad", "coulomb": "Nm", "velocity": "rad/s", "static": "Nm", "stribeck_velocity": "rad/s",
        "load": "1", "load_scale": "Nm", "backward.viscous": "Nm s/rad", "backward.coulomb": "Nm", "backward.load": "1",
    }  # fmt: skip
    assert own == {f"hip.{side}friction.{x}": y for side in ("", "drive.motor.") for x, y in units.items()}
    rng = np.random.default_rng(3)
    values = {x: found[x].value * rng.uniform(0.8, 1.2) for x in own}
    other = one(numbers_of(values, False), numbers_of(values, True))
    program, _ = fj.inverse_dynamics.trace(robot, fj.inverse_dynamics.structure(robot, free=tuple(values)))
    stack = 0.2 * rng.normal(size=(5, 1))
    (tau,) = interpret(program, *stack, *values.values())
    np.testing.assert_allclose(tau, evaluate(fj.inverse_dynamics, other, *stack)[0], rtol=1e-13)


def numbers_of(values, motor):
    """The friction with these numbers by path."""
    start = "hip.drive.motor.friction." if motor else "hip.friction."
    given = {k.removeprefix(start): float(x) for k, x in values.items() if k.startswith(start)}
    back = {k.removeprefix("backward."): x for k, x in given.items() if k.startswith("backward.")}
    ahead = {k: x for k, x in given.items() if "." not in k}
    return Friction(**ahead, backward=Friction(**back) if back else None)


def test_derivatives_by_numbers_of_friction():
    """∂τ/∂F_s and ∂τ/∂μ of the motor, against automatic differentiation of the formula."""
    robot, q = one(at_motor=LOADED), 0.2 * np.random.default_rng(0).normal(size=(5, 1))
    paths = [f"hip.drive.motor.friction.{x}" for x in ("static", "load", "backward.coulomb", "velocity")]
    x = ca.SX.sym("x", 4)
    F = dataclasses.replace(
        LOADED, static=x[0], load=x[1], velocity=x[3], backward=dataclasses.replace(LOADED.backward, coulomb=x[2])
    )
    moved = evaluate(fj.motor_motion, robot, *q)
    now = law(F, moved.theta_v.item(), moved.tau_e.item())
    expected = ca.Function("f", [x], [ca.jacobian(now, x)])
    structure = fj.inverse_dynamics.structure(robot, derivatives=tuple(("tau", path) for path in paths))
    program, _ = fj.inverse_dynamics.trace(robot, structure)
    found = interpret(program, *q)
    np.testing.assert_allclose(np.ravel(found), np.array(expected([6.0, 0.05, 3.0, 0.02]))[0], rtol=1e-11)


def test_names_in_equations():
    equations = fj.analysis.equations_of_motion(one(STRIBECK, LOADED), ["bias_torque"])
    v, d, F, w, F_s, w_s = sympy.symbols("v_1 d_1 F_1 w_1 F_s1 w_s1")
    expected = d * v + (F + (F_s - F) * sympy.exp(-((v / w_s) ** 2))) * sympy.tanh(v / w)
    assert sympy.expand(equations["bias_torque"][0] - expected) == 0
    names = parameter_names(one(STRIBECK, LOADED))
    found = [names[f"hip.drive.motor.friction.{x}"] for x in ("static", "load", "load_scale", "backward.coulomb")]
    assert found == [("F_ms1", "F_{ms1}"), ("mu_m1", r"\mu_{m1}"), ("T_m1", "T_{m1}"), ("F_mb1", "F_{mb1}")]


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_exported_code_has_the_bits_of_the_kernel(tmp_path):
    robot = one(LOADED, LOADED)
    kernel = fj.compile(fj.inverse_dynamics, robot)
    c.export(kernel, "function", tmp_path, "a test")
    flags = ["-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", tmp_path / "f.so", tmp_path / "function.c", "-lm"], check=True)
    function = ctypes.CDLL(str(tmp_path / "f.so")).function
    for stack in 0.2 * np.random.default_rng(0).normal(size=(50, 5, 1)):
        out = np.empty(1)
        function(*(ctypes.c_void_p(x.ctypes.data) for x in [*stack, out]))
        (reference,) = interpret(kernel.program, *stack)
        assert same_bits(out, kernel(*stack)) and same_bits(out, reference)


def test_symbols():
    """A symbol in the friction is never taken for zero."""
    mu = ca.SX.sym("mu")
    robot = one(at_motor=LOADED).with_symbols({"hip.drive.motor.friction.load": mu})
    stack = [[0.1], [0.2], [0.3], [0.1], [0.1]]
    tau = ca.Function("f", [mu], [fj.inverse_dynamics(robot, *map(ca.SX, stack))])
    assert float(tau(0.05)) == pytest.approx(fj.inverse_dynamics(one(at_motor=LOADED), *stack).item(), rel=1e-13)
    robot = one(at_joint=LOADED).with_symbols({"hip.friction.load": mu})
    tau = ca.Function("f", [mu], [fj.inverse_dynamics(robot, *map(ca.SX, stack))])
    assert float(tau(0.05)) == pytest.approx(evaluate(fj.inverse_dynamics, one(LOADED), *stack).item(), rel=1e-13)
    assert abs(float(tau(0.0)) - float(tau(0.05))) > 1e-4


def test_uncertain_friction():
    """Bands of the motor torque by μ: at a steady speed (√(τ² + τ_0²) − τ_0) tanh(v/v_c) of the forward law."""
    turning = [np.array([[0.3]]), np.array([[0.5]]), *np.zeros((3, 1, 1))]
    path = "hip.drive.motor.friction.load"
    found = fj.analysis.sensitivity(one(at_motor=LOADED), np.array(turning), {path: 0.01})["tau"]
    tau = fj.motor_motion(one(at_motor=LOADED), *(x[0] for x in turning)).tau_e.item()
    t = np.tanh(0.5 / 0.02)
    assert found.bound.item() == pytest.approx(0.01 * (np.sqrt(tau**2 + 1) - 1) * t * (1 + t) / 2, rel=1e-9)
