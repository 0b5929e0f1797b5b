"""Operations of the complete model on the 7R LWR with coaxial motors, and what is promised about them."""

import pytest

import flexjoint as fj
from support.rotors import coaxial

SPONG = fj.load("kuka_lwr")
COMPLETE = coaxial(SPONG)
COUNTS = {
    "inverse_dynamics": (fj.inverse_dynamics, 9017),
    "forward_dynamics": (fj.forward_dynamics, 998),
    "generalized_forces": (fj.dynamics.generalized_forces, 952),
    "mass_matrix, motors": (fj.mass_matrix, 257),
    "rotor_coupling": (fj.dynamics.rotor_coupling, 43),
    "generalized_momentum, motors": (fj.generalized_momentum, 297),
    "coriolis_transpose_product, motors": (fj.coriolis_transpose_product, 303),
    "coriolis_product, motors": (fj.coriolis_product, 572),
    "coriolis_matrix, motors": (fj.coriolis_matrix, 1274),
    "mass_matrix_rate, motors": (fj.mass_matrix_rate, 659),
}

TRACKING = {"tracking": {"reference": 5, "gains": 4}}
MIXED = {  # on hua_3r
    "mixed_torque": (fj.control.laws.mixed_torque, 1168),
    "adaptive_mixed_torque": (fj.control.laws.adaptive_mixed_torque, 940),
    "adaptive_mixed_torque_from_positions": (fj.control.laws.adaptive_mixed_torque_from_positions, 1680),
}


def operations(algorithm, robot, **groups):
    program, _ = algorithm.trace(robot, algorithm.structure(robot, **groups))
    return program.operations


@pytest.mark.parametrize("name", MIXED)
def test_mixed_laws(name):
    algorithm, count = MIXED[name]
    robot = fj.load("hua_3r").with_fidelity("complete")
    assert operations(algorithm, robot, **TRACKING) == count, "if meant, change the number and say why in the commit"


@pytest.mark.parametrize("name", COUNTS)
def test_operation_counts(name):
    algorithm, count = COUNTS[name]
    options = {"motors": True} if "motors" in name else {}
    assert operations(algorithm, COMPLETE, **options) == count, "if meant, change the number and say why in the commit"


def test_bounds():
    """Inverse dynamics at order 8: ten times that of Spong's model; forward dynamics: twice that of rigid joints."""
    assert COUNTS["inverse_dynamics"][1] <= 10 * operations(fj.inverse_dynamics, SPONG)
    assert COUNTS["forward_dynamics"][1] <= 2 * operations(fj.forward_dynamics, SPONG.rigid())
