"""Motors that give another torque than the one commanded."""

import numpy as np
import pytest

import flexjoint as fj
from support.marks import some_long

ROBOT = fj.random_robot(3, 2, prismatic=0.3).with_drives([fj.RigidDrive(fj.Motor(0.5))] * 3)
LAW = fj.control.ComputedTorque(ROBOT, fj.control.gains_from_poles([-8.0, -8.0]))
MOTION = fj.trajectory.RestToRest(np.zeros(3), np.array([0.4, 0.2, -0.3]), 0.5)


def test_torques_are_changed_while_the_fault_lasts():
    faulty = fj.simulation.FaultyActuators(LAW, [1.0, 0.4, 1.0], [0.0, 1.5, 0.0], begin=0.1, end=0.25)
    run = fj.simulate(ROBOT, faulty, MOTION)
    commanded = faulty.commanded(MOTION(run.t, LAW.order), run.states)
    on = (run.t > 0.0995) & (run.t < 0.2495)
    expected = np.where(on[:, None], commanded * [1.0, 0.4, 1.0] + [0.0, 1.5, 0.0], commanded)
    assert on.sum() == 150
    assert np.abs(run.tau - expected).max() < 1e-12 * np.abs(expected).max()
    sound = fj.simulate(ROBOT, LAW, MOTION)
    assert np.array_equal(run.tau[~on & (run.t < 0.1)], sound.tau[~on & (sound.t < 0.1)])
    assert np.abs(run.q - sound.q).max() > 1e-3


def test_a_batch_has_a_fault_a_row():
    faulty = fj.simulation.FaultyActuators(LAW, begin=0.1, end=0.3)
    gains = np.repeat(faulty.gains[None], 3, axis=0)
    for row, efficiency in enumerate((1.0, 0.5, 0.0)):
        gains[row, -4] = efficiency
    runs = fj.simulate(ROBOT, faulty, MOTION, gains=gains)
    assert np.array_equal(runs.q[0], fj.simulate(ROBOT, LAW, MOTION).q)
    assert np.all(runs.tau[2][(runs.t > 0.1) & (runs.t < 0.299)] == 0.0)
    assert np.all(runs.tau[2][runs.t < 0.0995] != 0.0)


TWO = fj.load("vsa_3r")  # two motors a joint


def test_each_of_two_motors_a_joint():
    """Beside the torque that is commanded, which open loop is known."""
    tau, efficiency = np.array([3.0, -2.0, 1.0, -3.0, 2.0, 4.0]), [1.0, 0.5, 1.0, 1.0, 0.0, 1.0]
    bias = [0.0, 0.0, 0.2, 0.0, 0.0, -0.3]
    faulty = fj.simulation.FaultyActuators(fj.control.OpenLoop(TWO), efficiency, bias, begin=0.003, end=0.006)
    run = fj.simulate(TWO, faulty, tau, 0.008, start=fj.simulation.at_rest(TWO, np.zeros(3), 1000.0))
    on = (np.arange(9) >= 3) & (np.arange(9) < 6)
    assert np.array_equal(run.tau, np.where(on[:, None], tau * efficiency + bias, tau))


@pytest.mark.long
def test_around_a_law_of_motion_and_stiffness():
    law = fj.control.VariableStiffnessTracking.from_poles(TWO, [-20.0] * 4, [-20.0] * 2, 1e-3)
    motion = fj.trajectory.RestToRest(np.zeros(3), np.full(3, 0.2), 0.2)
    reference = fj.trajectory.MotionAndStiffness(
        motion, fj.trajectory.RestToRest(np.full(3, 1000.0), np.full(3, 1100.0), 0.2)
    )
    sound, weak = (
        fj.simulate(TWO, x, reference, 0.02, check=False)
        for x in (law, fj.simulation.FaultyActuators(law, 0.5, begin=0.01, end=1.0))
    )
    assert np.array_equal(weak.tau[:10], sound.tau[:10])
    assert np.allclose(weak.tau[10], sound.tau[10] / 2, rtol=1e-13)


@pytest.mark.parametrize("law", some_long(["adaptive", "guarded"], "adaptive"))
def test_around_a_law_whose_memory_has_other_sizes(law):
    residual = fj.observers.MomentumResidual(ROBOT, 50.0)
    watch = fj.observers.Detector(residual, {"residual": 1e3})
    laws = {
        "adaptive": fj.control.AdaptiveControl(ROBOT, 5.0, 10.0, 1.0, 1e-3, ROBOT),
        "guarded": fj.control.Guarded(LAW, watch, fj.control.ZeroGravity(ROBOT)),
    }
    sound, weak = (
        fj.simulate(ROBOT, x, MOTION, 0.02, check=False)
        for x in (laws[law], fj.simulation.FaultyActuators(laws[law], 0.5, 0.0, 0.01))
    )
    assert np.array_equal(weak.tau[:10], sound.tau[:10])
    assert np.allclose(weak.tau[10], sound.tau[10] / 2, rtol=1e-13)


def test_open_loop_begins_where_it_does_without_faults():
    """Its reference is a torque, no position."""
    tau = np.array([1.0, 2.0, 3.0])
    for law in (fj.control.OpenLoop(ROBOT), fj.simulation.FaultyActuators(fj.control.OpenLoop(ROBOT))):
        assert np.array_equal(fj.simulate(ROBOT, law, tau, 0.002).q[0], np.zeros(3))
    with pytest.raises(fj.InputError, match="OpenLoop follows no reference"):
        fj.studies.monte_carlo(
            ROBOT,
            fj.simulation.FaultyActuators(fj.control.OpenLoop(ROBOT)),
            tau,
            0.002,
            samples=2,
            vary={"link1.mass": "5%"},
        )


def test_another_period_than_that_of_the_law_inside():
    law = fj.control.AdaptiveControl(ROBOT, 5.0, 10.0, 1.0, 5e-4, ROBOT)
    with pytest.raises(fj.InputError, match=r"period is 0.001 s, that of AdaptiveControl inside is 0.0005 s"):
        fj.simulation.FaultyActuators(law)
    watch = fj.observers.Detector(fj.observers.MomentumResidual(ROBOT, 50.0), {"residual": 1e3})
    with pytest.raises(fj.InputError, match=r"Guarded: period is 0.001 s"):
        fj.control.Guarded(law, watch, fj.control.ZeroGravity(ROBOT))


def test_a_reference_solution_knows_no_memory():
    """Nor the time since a fault began."""
    adaptive = fj.control.AdaptiveControl(ROBOT, 5.0, 10.0, 1.0, 1e-3)  # knows nothing at first
    for law in (fj.simulation.FaultyActuators(LAW, 0.0, begin=0.01), adaptive):
        with pytest.raises(fj.InputError, match=r"has a state .*; use simulate"):
            fj.simulation.reference_solution(ROBOT, law, MOTION, 0.02)


def test_bad_faults_are_refused():
    with pytest.raises(fj.InputError, match=r"FaultyActuators: .*efficiency"):
        fj.simulation.FaultyActuators(LAW, efficiency=np.nan)
    with pytest.raises(fj.InputError, match="period is 0"):
        fj.simulation.FaultyActuators(LAW, period=0)
