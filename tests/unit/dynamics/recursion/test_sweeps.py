"""Sweeps over a tree: how it is cut into runs, and that states and loads reach parents and children."""

import casadi as ca

import flexjoint as fj
from flexjoint.dynamics.recursion.bodies import Body, lump_fixed
from flexjoint.dynamics.recursion.sweeps import inward, outward, runs
from flexjoint.spatial import Inertia, Screw, identity, sx, zeros

TURN, SLIDE = Screw(sx(1.0), sx(0.0)), Screw(sx(0.0), sx(1.0))


def tree_of(*rows):
    """Bodies from (parent, screw)."""
    inertia = Inertia(sx(1.0), zeros(3), zeros(3, 3))
    return [Body(parent, screw, i, identity(), zeros(3), inertia) for i, (parent, screw) in enumerate(rows)]


BRANCHED = tree_of((-1, TURN), (0, TURN), (1, SLIDE), (1, TURN), (3, TURN), (-1, TURN))


def test_runs_are_chains_of_joints_that_move_alike():
    assert runs(BRANCHED) == [range(0, 2), range(2, 3), range(3, 5), range(5, 6)]
    chain = lump_fixed(fj.random_robot(30, 0, prismatic=0.0))
    assert runs(chain) == [range(30)]


def test_states_go_outwards():
    """Depth of each body."""
    inputs = [sx(float(i)) for i in range(6)]
    states, results = outward(BRANCHED, lambda up, body, x: (up + 1, up + x), sx(0.0), inputs, 1)
    assert [float(x) for x in states] == [1, 2, 3, 3, 4, 1]
    assert [float(x) for x in results] == [0, 2, 4, 5, 7, 5]


def test_loads_go_inwards():
    """Number of bodies in each subtree."""
    ones = [ca.SX(1)] * 6
    found = inward(BRANCHED, lambda load, body, x: (load, load), sx(0.0), ones, ones, 1)
    assert [float(x) for x in found] == [5, 4, 1, 2, 1, 1]
