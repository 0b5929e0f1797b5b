"""Both parts of a distributed loop give the bits of the whole one, and nothing is computed in both."""

import casadi as ca
import numpy as np

import flexjoint as fj
from flexjoint.algorithm.compile import program_of
from flexjoint.compiler.ir.program import Array
from flexjoint.compiler.ir.reference import evaluate
from flexjoint.compiler.ir.scan import scan
from flexjoint.compiler.passes.loop_distribution import PRECOMPUTED, distribute_loop
from flexjoint.simulation.closed_loop import ClosedLoop
from flexjoint.simulation.loop_kernel import BATCH, SINGLE, loop_kernel
from support.programs import same_bits

INPUTS = [Array("c", (2,)), Array("table", (5, 1, 3)), Array("gain", ())]
RNG = np.random.default_rng(4)
GIVEN = RNG.normal(size=2), RNG.normal(size=(5, 1, 3)), np.array(0.7)


def program(step):
    """The second column of the table is used by nobody."""

    def function(c, table, gain):
        xs = [table[k, :].T for k in range(5)]
        last, ys = scan(lambda carry, x: step(carry, x, gain), c, xs)
        return [(Array("y", (5, ys[0].numel())), ca.horzcat(*ys).T), (Array("last", (2,)), last)]

    return program_of("loop", INPUTS, function)


def heavy(c, x, gain):
    far = ca.sin(x[0]) * ca.cos(x[2]) + ca.exp(x[0])
    inner, _ = scan(lambda s, _: (s * 0.5 + x[2], ()), x[0], [()] * 4)
    outside, _ = scan(lambda s, _: (s * 0.5 + gain, ()), gain, [()] * 4)  # becomes a loop before this one
    return gain * c + ca.vertcat(far, -far), ca.vertcat(c, far * gain, x[0] + x[2], x[0], inner + outside)


def of_parts(parts, given):
    """What both give, one after the other."""
    c, table, gain = given
    rows = np.array([evaluate(parts.first, row)[0] for row in table])
    return evaluate(parts.second, c, rows, gain)


def test_the_same_bits():
    whole = program(heavy)
    parts = distribute_loop(whole, "table", 0.0)
    assert [x.name for x in parts.second.inputs] == ["c", PRECOMPUTED, "gain"]
    assert all(same_bits(x, y) for x, y in zip(of_parts(parts, GIVEN), evaluate(whole, *GIVEN)))
    counts = parts.second.counts
    assert whole.counts["sin"] == whole.counts["cos"] == whole.counts["exp"] == 5
    assert counts["sin"] == counts["cos"] == counts["exp"] == 0
    assert parts.first.counts["sin"] == 1
    assert parts.first.outputs[0].shape == (4,)  # far, the sum, x[0] as it is, and the inner loop's result


def test_what_is_not_worth_it_stays():
    whole = program(lambda c, x, gain: (gain * c + x[0] + x[2], x[0] + x[2]))
    assert distribute_loop(whole, "table", 2.0) == (None, whole)
    parts = distribute_loop(whole, "table", 0.0)
    assert parts.first is not None
    assert all(same_bits(x, y) for x, y in zip(of_parts(parts, GIVEN), evaluate(whole, *GIVEN)))


def test_what_depends_on_more_stays():
    whole = program(lambda c, x, gain: (c * ca.sin(gain * x[0]), ca.cos(x[0] + c[0])))
    assert distribute_loop(whole, "table", 0.0).first is None


def test_gravity_at_the_goal_is_precomputed_for_batches():
    robot = fj.load("kuka_lwr")
    loop = ClosedLoop(robot, fj.control.MotorPD(robot, [1000.0, 50.0]), 1e-4)
    assert loop_kernel(loop, SINGLE).precomputation is None
    parts = loop_kernel(loop, BATCH)
    whole = loop_kernel(loop, BATCH._replace(least=np.inf)).kernel
    precomputed, rest = parts.precomputation.program, parts.kernel.program
    assert rest.counts["sin"] < whole.program.counts["sin"]
    assert rest.operations + BATCH.periods * precomputed.operations == whole.operations
