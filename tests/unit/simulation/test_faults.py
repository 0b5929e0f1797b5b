"""Motors that give another torque than the one commanded."""

import numpy as np
import pytest

import flexjoint as fj

ROBOT = fj.random_robot(3, 2, prismatic=0.3).with_drives([fj.RigidDrive(fj.Motor(0.5))] * 3)
LAW = fj.ComputedTorque(ROBOT, fj.gains_from_poles([-8.0, -8.0]))
MOTION = fj.RestToRest(np.zeros(3), np.array([0.4, 0.2, -0.3]), 0.5)


def test_torques_are_changed_while_the_fault_lasts():
    faulty = fj.FaultyActuators(LAW, [1.0, 0.4, 1.0], [0.0, 1.5, 0.0], begin=0.1, end=0.25)
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
    faulty = fj.FaultyActuators(LAW, begin=0.1, end=0.3)
    gains = np.repeat(faulty.gains[None], 3, axis=0)
    for row, efficiency in enumerate((1.0, 0.5, 0.0)):
        gains[row, -4] = efficiency
    runs = fj.simulate(ROBOT, faulty, MOTION, gains=gains)
    assert np.array_equal(runs.q[0], fj.simulate(ROBOT, LAW, MOTION).q)
    assert np.all(runs.tau[2][(runs.t > 0.1) & (runs.t < 0.299)] == 0.0)
    assert np.all(runs.tau[2][runs.t < 0.0995] != 0.0)


def test_bad_faults_are_refused():
    with pytest.raises(fj.InputError, match=r"FaultyActuators: .*efficiency"):
        fj.FaultyActuators(LAW, efficiency=np.nan)
    with pytest.raises(fj.InputError, match="period is 0"):
        fj.FaultyActuators(LAW, period=0)
