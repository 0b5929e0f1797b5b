"""The component of an algorithm, such as inverse dynamics: outputs from inputs, without a state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..algorithm.algorithm import Algorithm, parameter_array
from ..algorithm.compile import compile
from ..checks import positive
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..robot import Robot
from ..robot.parameters import select_all
from .component import Component


def algorithm_component(
    algorithm: Algorithm, robot: Robot, period: float = 1e-3, *, free: Sequence[str] = (), **keywords: Any
) -> Component:
    """An algorithm as a component without a state.

    Args:
        algorithm: Such as `fj.inverse_dynamics`.
        robot: Its numbers are built in.
        period: Time between two steps, s; default 1e-3.
        free: Parameters of the robot that may change at run time, by paths or patterns; default none.
        keywords: As in `compile`.

    Returns:
        A Component with the arrays of the algorithm as inputs and outputs; a stack of derivatives has one array each,
        numbered from 0.

    Raises:
        InputError: The algorithm does not take this robot or these keywords.

    Example:
        >>> import flexjoint as fj
        >>> torque = fj.deployment.algorithm_component(fj.gravity_torque, fj.load("kuka_lwr"))
        >>> [x.name for x in torque.inputs], [x.name for x in torque.outputs]
        (['q'], ['tau'])
    """
    positive("algorithm_component", "period", period)
    kernel = compile(algorithm, robot, free=free, **keywords)
    chosen = select_all(robot, tuple(free))
    return Component(
        name=f"{algorithm.__name__} of {robot.name}",
        robot=robot,
        period=period,
        state=(),
        initial=(),
        parameters=tuple(map(parameter_array, chosen)),
        nominal=kernel.nominal,
        inputs=kernel.inputs[: len(kernel.inputs) - len(chosen)],
        outputs=tuple(numbered_layers(kernel)),
        law=None,
        own_kernel=kernel,
    )


def numbered_layers(kernel: Kernel) -> list[Array]:
    """The outputs of a kernel; those of a stack are numbered from 0."""
    outputs = iter(kernel.outputs)
    return [
        array if layers is None else array._replace(name=f"{array.name}{k}")
        for layers in kernel.result.layers
        for k, array in enumerate(next(outputs) for _ in range(layers or 1))
    ]
