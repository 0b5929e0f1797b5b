"""Hysteresis and backlash in robots, robot files and simulations; the equations are tested in oracles/test_gears.py."""

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.drives import BoucWen, Dahl, Hysteresis
from flexjoint.robot import robot_parameters
from support.evaluate import evaluate
from support.marks import some_long

SMOOTH = fj.random_robot(2, 5, prismatic=0.0).with_drives([fj.ElasticDrive(300.0, fj.Motor(0.5, 0.4))] * 2)
GEARS = ({"hysteresis": Dahl(2.0, 400.0)}, {"hysteresis": BoucWen(1.0, 300.0, 2.0, 1.3), "backlash": 2e-3})
LOSSY = SMOOTH.with_drives([replace(joint.drive, **gear) for joint, gear in zip(SMOOTH.joints, GEARS)])
PD = fj.control.MotorPD(SMOOTH, [200.0, 20.0])
GOAL, AT = [0.3, -0.2], fj.simulation.at_rest(LOSSY, [0.0, 0.1])


def simulated(robot=LOSSY, law=PD, duration=0.1, **options):
    return fj.simulate(robot, law, GOAL, duration, **{"start": AT, **options})


def same(run, other):
    return all(
        np.array_equal(x, y) for x, y in zip([*run.states, *run.more.values()], [*other.states, *other.more.values()])
    )


# Robots --------------------------------------------------------------------------------------------------------------


def test_a_model_without_losses():
    assert LOSSY.without_gear_losses() == SMOOTH and SMOOTH.without_gear_losses() == SMOOTH
    assert LOSSY.hysteretic == (0, 1) and LOSSY.gear_losses == (True, True) and not any(SMOOTH.gear_losses)
    assert not any(LOSSY.rigid().gear_losses)


@pytest.mark.parametrize(
    "gear, message",
    [
        ({"backlash": -1e-3}, "the backlash of joint 'link1_joint' is -0.001"),
        ({"backlash": np.nan}, "backlash of 'link1_joint' is nan"),
        ({"hysteresis": 2.0}, r"the hysteresis of joint 'link1_joint' is 2.0: give drives.Dahl\(torque"),
    ],
)
def test_a_robot_is_checked(gear, message):
    with pytest.raises(fj.RobotError, match=message):
        SMOOTH.with_drives([replace(SMOOTH.joints[0].drive, **gear), None])


@pytest.mark.parametrize(
    "numbers, message",
    [
        ((0.0, 1.0), "torque is 0; it must be positive"),
        ((1.0, -1.0), "stiffness is -1; it must be positive"),
        ((1.0, 1.0, 0.5), "exponent is 0.5; it must be 1 or more"),
        ((1.0, 1.0, 1.0, 0.9), "reversal is 0.9; it must be 1 or more, or the gear would generate energy"),
        (("a", 1.0), "torque"),
    ],
)
def test_a_law_is_checked(numbers, message):
    with pytest.raises(fj.RobotError, match=message):
        BoucWen(*numbers)


@pytest.mark.parametrize(
    "gear, message",
    [
        ({"backlash": 3.0}, "backlash of joint 'link1_joint' is 3 rad: if degrees are meant, write 0.05236"),
        ({"hysteresis": Dahl(2.0, 1.0)}, "begins to slip at 2 rad"),
    ],
)
def test_doubtful_numbers(gear, message):
    with pytest.warns(fj.FlexjointWarning, match=message):
        SMOOTH.with_drives([replace(SMOOTH.joints[0].drive, **gear), None])


def test_robot_files(tmp_path):
    fj.write_robot(LOSSY, tmp_path / "robot.toml")
    again, text = fj.load(tmp_path / "robot.toml"), (tmp_path / "robot.toml").read_text()
    assert again == LOSSY and 'hysteresis = {kind = "dahl", torque = 2.0, stiffness = 400.0}' in text
    assert SMOOTH.digest != LOSSY.digest
    (tmp_path / "robot.toml").write_text(text.replace('"dahl", torque', '"dahl", height'))
    with pytest.raises(fj.RobotError, match="hysteresis: unknown key 'height'; "):
        fj.load(tmp_path / "robot.toml")
    (tmp_path / "robot.toml").write_text(text.replace('"dahl", torque = 2.0', '"dahl", torque = nan'))
    with pytest.raises(fj.RobotError, match="'link1', drive, hysteresis: Dahl: torque is nan; it must be a finite"):
        fj.load(tmp_path / "robot.toml")
    rigid = text.replace('{kind = "elastic", stiffness = 300.0', '{kind = "rigid"', 1)
    (tmp_path / "robot.toml").write_text(rigid)
    with pytest.raises(fj.RobotError, match=r"a drive of kind 'rigid' has no hysteresis.*stiffness, or remove it"):
        fj.load(tmp_path / "robot.toml")


def test_parameters():
    found = robot_parameters(LOSSY)
    assert (
        found["link1_joint.drive.hysteresis.torque"].unit == "Nm" and found["link2_joint.drive.backlash"].value == 2e-3
    )
    assert "link2_joint.drive.hysteresis.reversal" in found and "link2_joint.drive.hysteresis.exponent" not in found
    assert "link1_joint.drive.backlash" not in found


# Refusals ------------------------------------------------------------------------------------------------------------

STATE = np.zeros((5, 2))
REFUSING = {
    "inverse_dynamics": lambda robot: fj.inverse_dynamics(robot, *STATE),
    "motor_motion": lambda robot: fj.motor_motion(robot, *STATE),
    "inverse_dynamics_along": lambda robot: fj.inverse_dynamics_along(
        robot, fj.trajectory.RestToRest([0, 0], GOAL, duration=1.0), [0.0, 0.1]
    ),
    "feedback_linearization": lambda robot: fj.feedback_linearization(robot, *STATE),
    "spring_torques": lambda robot: fj.dynamics.spring_torques(robot, *STATE[:4]),
    "link_state": lambda robot: fj.dynamics.link_state(robot, *STATE[:4]),
    "linearize": lambda robot: fj.analysis.linearize(robot, [0.0, 0.0]),
    "joint_modes": lambda robot: fj.control.joint_modes(robot, [0.0, 0.0]),
    "MotorPD": lambda robot: fj.control.MotorPD(robot, [1.0, 1.0]),
    "FeedbackLinearization": lambda robot: fj.control.FeedbackLinearization.from_numbers(robot, [-10.0], 1e-3),
    "MotorEncoderResidual": lambda robot: fj.observers.MotorEncoderResidual(robot, 10.0, 20.0),
    "JointTorqueResidual": lambda robot: fj.observers.JointTorqueResidual(robot, 10.0, 10.0, sensors=False),
    "FrictionObserver": lambda robot: fj.observers.FrictionObserver(robot, 10.0, sensors=False),
    "FrictionCompensation": lambda robot: fj.control.FrictionCompensation(PD, model=robot),
}


@pytest.mark.parametrize("name", REFUSING)
def test_models_with_losses_are_refused(name):
    """Each names the joint and the remedy."""
    with pytest.raises(
        fj.InputError, match=rf"^{name}: the gear of joint 'link1_joint' has hysteresis.*without_gear_losses"
    ):
        REFUSING[name](LOSSY)
    gap = SMOOTH.with_drives([SMOOTH.joints[0].drive, replace(SMOOTH.joints[1].drive, backlash=1e-3)])
    with pytest.raises(
        fj.InputError, match=rf"^{name}: the gear of joint 'link2_joint' has backlash.*without_gear_losses"
    ):
        REFUSING[name](gap)


def test_forces_of_a_motion_know_no_hysteresis():
    """They have no state for it; a gap they know."""
    with pytest.raises(fj.InputError, match=r"^generalized_forces: the gear of joint 'link1_joint' has hysteresis"):
        fj.dynamics.generalized_forces(LOSSY, *np.zeros((6, 2)))
    gap = SMOOTH.with_drives([SMOOTH.joints[0].drive, replace(SMOOTH.joints[1].drive, backlash=0.04)])
    at = np.zeros((6, 2))
    at[2] = 0.05
    forces = [evaluate(fj.dynamics.generalized_forces, robot, *at).tau for robot in (SMOOTH, gap)]
    assert np.allclose(forces[0] - forces[1], [0.0, 300.0 * 0.02], rtol=0, atol=1e-12)


def test_forward_dynamics_needs_the_state_of_hysteresis():
    with pytest.raises(
        fj.InputError, match=r"hysteresis is missing: the gear of joint 'link1_joint'.*numpy.zeros\(robot.n\)"
    ):
        fj.forward_dynamics(LOSSY, *STATE)


# Runs ----------------------------------------------------------------------------------------------------------------


def test_what_is_recorded():
    run = simulated()
    z, torque = run.more["hysteresis"], run.more["hysteresis_torque"]
    assert np.array_equal(torque, z * [2.0, 1.0]) and np.max(np.abs(z)) > 0.2
    phi = run.theta - run.q
    beyond = phi - np.clip(phi, [0.0, -1e-3], [0.0, 1e-3])
    assert np.allclose(run.more["spring_torque"], 300.0 * beyond, rtol=0, atol=1e-12)
    assert np.all(np.diff(run.more["dissipated"], axis=0) >= 0) and run.more["dissipated"][-1].min() > 0
    assert "hysteresis" not in fj.simulate(SMOOTH, PD, GOAL, 0.01).more
    found = run.to_dataset()
    assert found.hysteresis_torque.dims == ("time", "joint") and found.dissipated.units == "J"


@pytest.mark.parametrize("integrator", some_long(["runge_kutta", "midpoint"], "midpoint"))
def test_runs_continue(integrator):
    whole, first = (simulated(integrator=integrator, duration=x) for x in (0.1, 0.06))
    second, again = (simulated(integrator=integrator, duration=0.04, start=x) for x in (first, first.last))
    ends = [[*run.last] for run in (whole, second, again)]
    assert all(np.array_equal(x, y) and np.array_equal(x, w) for x, y, w in zip(*ends)) and len(ends[0]) == 6


def test_where_a_run_begins():
    started = simulated(start=fj.simulation.PlantState(*AT, z=[0.5, -0.5]))
    assert started.more["hysteresis"][0].tolist() == [0.5, -0.5] and started.more["dissipated"][0].tolist() == [
        0.0,
        0.0,
    ]
    assert simulated().more["hysteresis"][0].tolist() == [0.0, 0.0]
    for z in ([1.5, 0.0], [0.0], [np.nan, 0.0], "much", ["a", "b"]):
        with pytest.raises(fj.InputError, match=r"start.z is .*give numbers from -1 to 1, one per hysteresis"):
            simulated(start=fj.simulation.PlantState(*AT, z=z))
    with pytest.raises(fj.InputError, match="hysteresis in other gears"):
        simulated(SMOOTH, start=started)


def test_batches_and_parameters():
    """Each run of a batch is the run alone, and a free parameter is that number in the robot."""
    path, values = "link1_joint.drive.hysteresis.torque", np.array([1.0, 2.0, 3.0])
    many = simulated(free={path: values})
    for k in (0, 2):
        alone = simulated(free={path: values[k]})
        assert np.array_equal(many.q[k], alone.q) and np.array_equal(
            many.more["dissipated"][k], alone.more["dissipated"]
        )
    other = LOSSY.with_drives([replace(LOSSY.joints[0].drive, hysteresis=Dahl(3.0, 400.0)), LOSSY.joints[1].drive])
    assert np.max(np.abs(many.q[2] - simulated(other).q)) < 1e-12 < np.max(np.abs(many.q[2] - many.q[0]))
    gaps = simulated(free={"*.drive.backlash": np.array([[0.0], [2e-3]])}, check=False)
    assert np.max(np.abs(gaps.q[1] - simulated().q)) < 1e-12 < np.max(np.abs(gaps.q[0] - gaps.q[1]))
    for path, x, reason in (
        ("link2_joint.drive.hysteresis.reversal", 0.9, "it must be 1 or more"),
        ("link1_joint.drive.hysteresis.torque", 0.0, "it must be positive"),
    ):
        with pytest.raises(fj.InputError, match=rf"free: {path} would be {x:g}; {reason}"):
            simulated(free={path: x})
    with pytest.raises(fj.InputError, match=r"link2_joint.drive.backlash would be -1; it cannot be negative"):
        simulated(free={"link2_joint.drive.backlash": -1.0})


def test_controllers_in_python():
    """The same torque from a Python function gives the same run, bit by bit."""
    tau = np.array([3.0, -2.0])
    run = fj.simulate(LOSSY, fj.control.OpenLoop(LOSSY), tau, 0.05, start=AT)
    other = fj.simulate(LOSSY, lambda t, state, reference, measurement: (state, tau), GOAL, 0.05, start=AT)
    assert same(run, other)


def test_torque_sensors_measure_all_of_the_torque():
    run = simulated(sensors=fj.simulation.Sensors())
    measured, rates = run.more["measured.tau_e"], run.more["measured.tau_e_v"]
    assert np.allclose(measured, run.more["spring_torque"] + run.more["hysteresis_torque"], rtol=0, atol=1e-12)
    z, phi, phi_v = run.more["hysteresis"], run.theta - run.q, run.theta_v - run.v
    dahl = 400.0 * (phi_v - np.abs(phi_v) * z)[:, 0]
    bouc_wen = 300.0 * (phi_v - 0.65 * np.abs(phi_v) * np.abs(z) * z - 0.35 * phi_v * z**2)[:, 1]
    stiffness = 300.0 * (np.abs(phi) > [0.0, 1e-3])
    assert np.allclose(rates[1:], (stiffness * phi_v + np.stack([dahl, bouc_wen], -1))[1:], rtol=0, atol=1e-9)


def test_residuals_with_torque_sensors_need_no_model_of_the_gear():
    watch = fj.observers.JointTorqueResidual(LOSSY, 50.0, 50.0)
    run = simulated(sensors=fj.simulation.Sensors(), observers={"watch": watch})
    assert np.max(np.abs(run.more["watch.link"])) < 0.05 < np.max(np.abs(run.more["hysteresis_torque"]))


def test_steps_know_the_steepest_slope():
    """Right after a reversal Dahl's law is twice as stiff as at first; a gap hides the stiffness of its spring."""
    drive = fj.ElasticDrive(10.0, fj.Motor(1e-3), hysteresis=Dahl(1.0, 2000.0))
    stiff = SMOOTH.with_drives([drive, None]).with_gravity([0.0, 0.0, 0.0])
    omega = np.sqrt((10.0 + 4000.0) / 1e-3)  # of the motor, whose link is much heavier
    law = fj.control.OpenLoop(stiff)
    fj.simulate(stiff, law, [0.0, 0.0], 0.01, period=2.6 / omega)
    with pytest.raises(fj.InputError, match="where its gears are stiffest: joint"):
        fj.simulate(stiff, law, [0.0, 0.0], 0.01, period=3.0 / omega)
    path = {"link1_joint.drive.hysteresis.stiffness": np.array([1000.0, 2000.0])}
    with pytest.raises(
        fj.InputError, match="is too long for joint 'link1_joint' with the parameters given in 1 of 2 runs"
    ):
        fj.simulate(stiff, law, [0.0, 0.0], 0.01, period=1.5 / omega, free={k: 4 * x for k, x in path.items()})
    gap = stiff.with_drives([fj.ElasticDrive(4010.0, fj.Motor(1e-3), backlash=0.01), None])
    with pytest.raises(fj.InputError, match="where its gears are stiffest: joint"):
        fj.simulate(gap, law, [0.0, 0.0], 0.01, period=3.0 / omega)


def test_monte_carlo():
    study = fj.studies.monte_carlo(
        LOSSY,
        PD,
        GOAL,
        0.05,
        samples=4,
        vary={"*.drive.hysteresis.torque": "20%", "link2_joint.drive.backlash": "20%"},
        seed=1,
    )
    assert not study.failed.any() and len(set(study.largest[:, 0].tolist())) == 4


@pytest.mark.long
def test_feedback_linearization_of_the_model_drives_the_robot():
    law = fj.control.FeedbackLinearization.from_numbers(SMOOTH, [-20.0], 1e-3)
    runs = [fj.simulate(robot, law, fj.trajectory.RestToRest([0, 0], GOAL, duration=0.3)) for robot in (SMOOTH, LOSSY)]
    exact, lossy = (np.max(np.abs(run.error)) for run in runs)
    assert exact < 0.2 * lossy < 0.1


def test_a_law_of_ones_own():
    """A law is one function: the part of the deflection that slips."""

    @dataclass(frozen=True)
    class Coulomb(Hysteresis):
        """A stick that slips at full torque."""

        def slip(self, z, phi_v):
            return ca.if_else(z * phi_v > 0, ca.if_else(ca.fabs(z) >= 1, phi_v, 0), 0)

        @property
        def steepest(self):
            return self.stiffness

    robot = LOSSY.with_drives([replace(SMOOTH.joints[0].drive, hysteresis=Coulomb(0.2, 400.0)), SMOOTH.joints[1].drive])
    run = simulated(robot, period=1e-4)
    assert 0.99 < np.max(np.abs(run.more["hysteresis"][:, 0])) < 1.1 and np.ptp((run.theta - run.q)[:, 0]) > 1e-3
