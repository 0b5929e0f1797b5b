import numpy as np
import pytest

from flexjoint.drives import ElasticDrive
from flexjoint.errors import RobotError
from flexjoint.robot.random_robots import random_quarter_turns, random_robot, random_rotation


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_bodies_can_exist(n, tree):
    """Principal moments of a real body satisfy the triangle inequality, with room to spare."""
    for seed in range(10):
        robot = random_robot(n, seed, tree=tree, fixed=0.5)
        assert robot.n == n
        assert not robot.allow_unphysical
        for link in robot.links:
            if link.mass:
                low, middle, high = np.linalg.eigvalsh(link.inertia)
                assert low > 0
                assert low + middle > high * (1 + 1e-6)
            assert link.mass or not link.joint.moves


def test_same_seed_same_robot():
    options = {"tree": True, "elastic": 0.5, "friction": True, "fixed": 0.3}
    assert random_robot(8, 5, **options) == random_robot(8, 5, **options)
    assert random_robot(8, 5, **options) != random_robot(8, 6, **options)


def test_chain_and_tree():
    chain = random_robot(10, 0, fixed=0.5)
    assert list(chain.parents) == list(range(-1, len(chain.links) - 1))
    trees = [random_robot(10, seed, tree=True) for seed in range(5)]
    assert any(len(set(robot.parents)) < 10 for robot in trees)
    assert all(parent < i for robot in trees for i, parent in enumerate(robot.parents))


def test_kinds():
    assert {j.kind.name for j in random_robot(20, 0, prismatic=0.0).joints} == {"revolute"}
    assert {j.kind.name for j in random_robot(20, 0, prismatic=1.0).joints} == {"prismatic"}
    assert {j.kind.name for j in random_robot(20, 0).joints} == {"revolute", "prismatic"}
    assert all(link.joint.moves for link in random_robot(20, 0).links)
    assert sum(not link.joint.moves for link in random_robot(20, 0, fixed=1.0).links) == 20
    assert any(link.mass == 0 for link in random_robot(20, 0, fixed=1.0).links)


@pytest.mark.parametrize(("fraction", "count"), [(0.0, 0), (0.5, 5), (1.0, 10)])
def test_springs(fraction, count):
    joints = random_robot(10, 3, elastic=fraction).joints
    assert sum(isinstance(j.drive, ElasticDrive) for j in joints) == count


def test_friction():
    assert all(j.viscous_friction == 0 for j in random_robot(5, 0).joints)
    assert all(j.viscous_friction > 0 for j in random_robot(5, 0, friction=True).joints)


def test_orthogonal():
    for link in random_robot(20, 0, orthogonal=True).links:
        assert set(np.unique(link.joint.rotation)) <= {-1.0, 0.0, 1.0}
        assert np.count_nonzero(link.joint.position) == 1


def test_rotations():
    rng = np.random.default_rng(0)
    for _ in range(20):
        R = random_rotation(rng)
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
        assert np.linalg.det(R) > 0
    assert len({random_quarter_turns(rng).tobytes() for _ in range(500)}) >= 24


@pytest.mark.parametrize("options", [{"n": 0}, {"prismatic": -0.1}, {"elastic": 1.5}, {"fixed": 2.0}])
def test_options_out_of_range(options):
    with pytest.raises(RobotError, match=r"at least one|between 0 and 1"):
        random_robot(**{"n": 3, "seed": 0, **options})
