"""What free parameters and derivatives cost on the 7R LWR, in additions and multiplications; see docs/parameters.md."""

import pytest

import flexjoint as fj

LWR = fj.load("kuka_lwr")


def operations(algorithm, robot, **options):
    return algorithm.trace(robot, algorithm.structure(robot, **options))[0].operations


@pytest.mark.parametrize(
    ("free", "count"),
    [
        (("*.drive.stiffness",), 1955),
        (("link7.mass", "link7.com"), 2212),
        (("link7.*",), 2221),
        (("*.mass", "*.com", "link?.inertia"), 2402),
    ],
)
def test_elastic_inverse_dynamics(free, count):
    assert operations(fj.inverse_dynamics, LWR, free=free) == count


@pytest.mark.parametrize(
    ("algorithm", "pairs", "count"),
    [
        (fj.inverse_dynamics, [("tau", "q"), ("tau", "v"), ("tau", "a")], 4569),
        (fj.forward_dynamics, [("a", "q"), ("a", "v"), ("a", "tau")], 7083),
    ],
)
def test_derivatives_of_rigid_dynamics(algorithm, pairs, count):
    assert operations(algorithm, LWR.without_drives(), derivatives=pairs) == count
