"""Operations of the complete model on the 7R LWR with coaxial motors, and what is promised about them."""

import pytest

import flexjoint as fj
from support.rotors import coaxial

SPONG = fj.load("kuka_lwr")
COMPLETE = coaxial(SPONG)
COUNTS = {
    "inverse_dynamics": (fj.inverse_dynamics, 9017),
    "elastic_forward_dynamics": (fj.elastic_forward_dynamics, 998),
    "generalized_forces": (fj.generalized_forces, 952),
    "coupled_mass_matrix": (fj.coupled_mass_matrix, 257),
    "rotor_coupling": (fj.rotor_coupling, 43),
    "coupled_momentum": (fj.coupled_momentum, 297),
    "coupled_transpose_product": (fj.coupled_transpose_product, 303),
    "coupled_coriolis_product": (fj.coupled_coriolis_product, 572),
    "coupled_coriolis_matrix": (fj.coupled_coriolis_matrix, 1274),
    "coupled_mass_matrix_rate": (fj.coupled_mass_matrix_rate, 659),
}

TRACKING = {"tracking": {"reference": 5, "gains": 4}}
MIXED = {  # on hua_3r
    "mixed_torque": (fj.mixed_torque, 1168),
    "adaptive_mixed_torque": (fj.adaptive_mixed_torque, 940),
    "adaptive_mixed_torque_from_positions": (fj.adaptive_mixed_torque_from_positions, 1680),
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
    assert operations(algorithm, COMPLETE) == count, "if meant, change the number and say why in the commit"


def test_bounds():
    """Inverse dynamics at order 8: ten times that of Spong's model; forward dynamics: twice that of rigid joints."""
    assert COUNTS["inverse_dynamics"][1] <= 10 * operations(fj.inverse_dynamics, SPONG)
    assert COUNTS["elastic_forward_dynamics"][1] <= 2 * operations(fj.forward_dynamics, SPONG.rigid())
