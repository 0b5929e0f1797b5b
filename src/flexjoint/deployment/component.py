"""A component: what runs once per period on the robot, with an explicit state.

    (state, inputs, parameters) -> (state, outputs)

A controller with its observers and detectors is one, a plant and a stateless algorithm too.  The same Program becomes
the kernel that Python calls and the C code of an export, so both give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..errors import InputError, listed
from ..robot import Robot
from ..types import Expression, FloatArray

Columns: TypeAlias = dict[str, Expression]
StepLaw: TypeAlias = Callable[[Columns, Columns, Columns], tuple[Mapping[str, Expression], Mapping[str, Expression]]]


@dataclass(frozen=True, eq=False, repr=False)
class Component:
    """What runs once per period, as data and as a law in SX.

    Args:
        name: What it is, in a few words, such as "MotorPD of kuka_lwr".
        robot: The robot it belongs to.
        period: Time between two steps, s.
        state: Arrays that go from step to step.
        initial: Their values before the first step.
        parameters: Arrays that may change between two steps, such as gains and thresholds.
        nominal: Their values.
        inputs: Arrays of one step, such as the time and the measurements.
        outputs: Arrays that a step gives, such as the torque.
        law: A step in SX: from state, inputs and parameters by name to the next state and the outputs by name; None
            with `own_kernel`.
        rates: Of a differential equation: from the same to the time derivatives of the state and the outputs; None by
            default.
        own_kernel: The compiled step of a component without a law; None by default.
        notes: What a user has to know, a line each; none by default.
    """

    name: str
    robot: Robot
    period: float
    state: tuple[Array, ...]
    initial: tuple[FloatArray, ...]
    parameters: tuple[Array, ...]
    nominal: tuple[FloatArray, ...]
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    law: StepLaw | None = field(repr=False)
    rates: StepLaw | None = None
    own_kernel: Kernel | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, arrays in (("input", (*self.state, *self.parameters, *self.inputs)), ("output", self.outputs)):
            names = [array.name for array in arrays]
            if repeated := [x for k, x in enumerate(names) if x in names[:k]]:
                raise InputError(f"{self.name}: two arrays of the {name}s are called {listed(repeated)}; rename one")

    def __repr__(self) -> str:
        size = sum(array.size for array in self.state)
        return f"<Component {self.name}: {size} numbers of state, {self.kernel.operations} operations>"

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled step: (*state, *inputs, *parameters) -> (*state, *outputs)."""
        return self.own_kernel or kernel_of(self.name, self.arguments, lambda *x: self.traced(self.law, x))

    @cached_property
    def rates_kernel(self) -> Kernel:
        """The compiled differential equation: (*state, *inputs, *parameters) -> (*derivatives, *outputs)."""
        return kernel_of(f"rates of {self.name}", self.arguments, lambda *x: self.traced(self.rates, x))

    @property
    def arguments(self) -> tuple[Array, ...]:
        """State, inputs and parameters."""
        return (*self.state, *self.inputs, *self.parameters)

    def traced(self, law: StepLaw | None, columns: Sequence[Expression]) -> list[tuple[Array, Expression]]:
        """Results of a law in SX: arrays of the next state and of the outputs with their expressions."""
        if law is None:
            raise InputError(f"{self.name} has no such law")
        named = [(array.name, x) for array, x in zip(self.arguments, columns)]
        first, second = len(self.state), len(self.state) + len(self.inputs)
        after, found = law(dict(named[:first]), dict(named[first:second]), dict(named[second:]))
        return [*((x, after[x.name]) for x in self.state), *((x, found[x.name]) for x in self.outputs)]

    def unit_of(self, array: Array, element: int) -> str:
        """The unit of one number of an array: that of the joint or motor that it belongs to."""
        units = array.unit.split(" | ")
        label = array.labels[element] if element < len(array.labels) else ""
        joints = dict(zip(self.robot.motor_names, (self.robot.joints[i] for i in self.robot.motor_joints)))
        joints |= {joint.name: joint for joint in self.robot.joints}
        linear = label in joints and not joints[label].kind.angular
        return units[-1] if linear else units[0]

    def start(self) -> list[FloatArray]:
        """The state before the first step, an array per entry of `state`."""
        return [np.array(x, dtype=float) for x in self.initial]

    def step(
        self, state: Sequence[FloatArray], inputs: Mapping[str, ArrayLike], parameters: Mapping[str, ArrayLike] = {}
    ) -> tuple[list[FloatArray], dict[str, FloatArray]]:
        """One step.

        Args:
            state: As `start` or the step before returned it.
            inputs: Arrays of `inputs`, by name.
            parameters: Values of `parameters` that differ from the nominal ones, by name; none by default.

        Returns:
            The next state, and the outputs by name.

        Raises:
            InputError: An input is missing, or a name is not known.
        """
        given = self._by_name("input", self.inputs, inputs)
        numbers = self._by_name("parameter", self.parameters, self.nominal_values | dict(parameters))
        found = self.kernel.result.arrays(self.kernel(*state, *given, *numbers))
        count = len(self.state)
        return found[:count], dict(zip((x.name for x in self.outputs), found[count:]))

    @property
    def nominal_values(self) -> dict[str, ArrayLike]:
        """The nominal parameters by name."""
        return {array.name: value for array, value in zip(self.parameters, self.nominal)}

    def _by_name(self, what: str, arrays: Sequence[Array], values: Mapping[str, ArrayLike]) -> list[ArrayLike]:
        names = [array.name for array in arrays]
        if missing := [x for x in names if x not in values]:
            raise InputError(f"{self.name}: {what} {listed(missing)} is missing; there are {listed(names)}")
        if unknown := [x for x in values if x not in names]:
            raise InputError(f"{self.name}: there is no {what} {listed(unknown)}; there are {listed(names)}")
        return [values[x] for x in names]
