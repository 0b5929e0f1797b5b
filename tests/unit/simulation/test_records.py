"""Records of arrays and the flat lists of kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.compiler.ir.program import Array
from flexjoint.simulation.closed_loop import ClosedLoop, input_arrays, output_arrays
from flexjoint.simulation.instrumentation import checked_instrumentation
from flexjoint.simulation.loop_kernel import Blocking, loop_kernel
from flexjoint.simulation.records import flatten, unflatten


class Pair(NamedTuple):
    one: Any
    others: list[Any]
    none: Any = None


SIGNATURE = Pair(Array("x", (2,)), [Array("y", (3,)), Array("z", ())])


def test_there_and_back():
    x, y, z = np.zeros(2), np.zeros(3), np.zeros(())
    pair = unflatten(SIGNATURE, [x, y, z])
    assert isinstance(pair, Pair) and pair.one is x and pair.others[1] is z and pair.none is None
    assert [id(a) for a in flatten(pair)] == [id(x), id(y), id(z)]
    assert flatten(SIGNATURE) == [SIGNATURE.one, *SIGNATURE.others]


def test_another_number_of_arrays():
    with pytest.raises(ValueError, match="more arrays than the 3 of a Pair"):
        unflatten(SIGNATURE, [0, 1, 2, 3])
    with pytest.raises((StopIteration, RuntimeError)):
        unflatten(SIGNATURE, [0, 1])


def test_the_kernel_of_a_loop_takes_and_gives_its_records():
    """With everything that a loop can have."""
    robot = fj.random_robot(1, 5, prismatic=0.0, elastic=1.0, name="arm")
    law = fj.control.FeedbackLinearization(robot, fj.control.gains_from_poles([-9.0] * 4), 1e-3)
    around = fj.simulation.Sensors(link_noise=1e-5, delay=2), fj.simulation.Actuators(bandwidth=100.0, delay=1)
    estimator = fj.observers.VelocityEstimator(robot, fj.observers.FilteredDerivative(1e-3, 300.0))
    instrumentation = checked_instrumentation(robot, 1e-3, *around, estimator, {})
    names = {"free": ("link1.mass",), "changes": ("gravity",)}
    loop = ClosedLoop(robot, law, 1e-3, **names, instrumentation=instrumentation)
    kernel = loop_kernel(loop, Blocking(2, np.inf)).kernel
    assert list(kernel.inputs) == flatten(input_arrays(loop, 2))
    assert list(kernel.outputs) == flatten(output_arrays(loop, 2))
    state = input_arrays(loop, 2).state
    assert len(state.instruments.sensors) == 3 and len(state.instruments.actuators) == 2
