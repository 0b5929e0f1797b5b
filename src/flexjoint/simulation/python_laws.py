"""Controllers and contacts that users write as Python functions: what they are, take and return, checked.

An exception that such a function raises itself passes through as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..control.base import Controller
from ..errors import NOT_NUMBERS, InputError, NonFiniteError, shown
from ..robot import Robot
from ..types import FloatArray

ARGUMENTS = "t, state, reference, measurement"
FORM = f"({ARGUMENTS}) -> (state, torque)"


def check_controller(controller: Any) -> None:
    """Refuse what is neither a controller of flexjoint's nor a function of four arguments."""
    if isinstance(controller, Controller):
        return
    if isinstance(controller, type):
        name = controller.__name__
        raise InputError(f"simulate: controller is the class {name}; create an instance, such as {name}(robot, ...)")
    if not callable(controller):
        raise InputError(
            f"simulate: controller is {shown(controller)}; give a controller such as MotorPD(robot, gains), or a "
            f"function {FORM}"
        )
    check_arguments("controller", controller, ARGUMENTS)


def reads_torques(controller: Any) -> bool:
    """Whether a law reads torque sensors: the attribute `torque_sensors` of a controller or of a Python function."""
    return bool(getattr(controller, "torque_sensors", False))


def check_arguments(what: str, function: Callable[..., Any], names: str) -> None:
    """Refuse a function that takes other arguments; one whose signature is not known is tried."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*names.split(", "))
    except TypeError:
        raise InputError(f"simulate: {what} takes {signature}; it is called with ({names})") from None


def state_and_torque(returned: Any, robot: Robot, t: float, shape: tuple[int, ...]) -> tuple[Any, FloatArray]:
    """What a controller returned: its state, and the torque as an array that broadcasts to `shape`, (..., motors)."""
    m = robot.motor_count
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        raise InputError(
            f"simulate: the controller returned {shown(returned)} at t = {t:g} s; it must return (state, torque), with "
            f"a torque for each of {m} motors: return state, torque"
        )
    state, torque = returned
    try:
        tau = np.asarray(torque, dtype=float)
    except NOT_NUMBERS:
        raise InputError(f"simulate: the controller's torque is {shown(torque)} at t = {t:g} s; give numbers") from None
    if tau.ndim == 0 or tau.shape[-1] != m or not fits(tau.shape, shape):
        raise InputError(
            f"simulate: the controller's torque has shape {tau.shape} at t = {t:g} s; it must be "
            f"{' or '.join(dict.fromkeys(map(str, (shape, (m,)))))}, one number per motor"
        )
    return state, tau


def refuse_nan(tau: FloatArray, robot: Robot, joint: FloatArray, t: float) -> None:
    """Refuse a torque (..., motors) that is NaN, except that of runs that ended.

    Args:
        joint: For each run the joint that left the bounds; n while it runs.
    """
    if np.any(lost := np.isnan(tau) & (np.asarray(joint) >= robot.n)[..., None]):
        motor = robot.motor_names[int(np.argwhere(lost)[0][-1])]
        raise NonFiniteError(f"simulate: the controller's torque for motor '{motor}' is NaN at t = {t:g} s")


def fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether an array of one shape broadcasts to the other one."""
    try:
        return np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        return False


@contextmanager
def traced(what: str) -> Iterator[None]:
    """Refuse a decision by values while a user's function is called with symbols."""
    try:
        yield
    except RuntimeError as error:
        if "truth value" not in str(error):
            raise
        raise InputError(
            f"simulate: {what} decides by `if`, `max` or the like; it is called once, with symbols that stand for all "
            "times and states: write ca.if_else(t > 0.5, a, b), ca.fmax(a, b), with `import casadi as ca`"
        ) from None
