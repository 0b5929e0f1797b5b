"""What damped springs cost on the 7R LWR, in additions and multiplications: the filter, and one equation per joint."""

import pytest

import flexjoint as fj

LWR = fj.load("kuka_lwr")


@pytest.mark.parametrize(
    ("law", "count"),
    [(lambda K: K, 1324), (lambda K: fj.springs.CubicSpring(K, 1e5), 14425)],
    ids=["linear", "cubic"],
)
def test_damped_springs(law, count):
    robot = LWR.with_drives([fj.ElasticDrive(law(x.drive.stiffness), x.drive.motor, 5.0) for x in LWR.joints])
    step = fj.inverse_dynamics_step
    assert step.trace(robot, step.structure(robot))[0].operations == count
