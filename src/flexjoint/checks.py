"""Checks of arguments and of a robot's numbers.

A check of an argument returns the value in its proper form or raises an InputError; `owner`, the function or class,
begins the message and `what` is the argument's name.  A check of a robot's number raises a RobotError; `owner` is the
name of the link or joint.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import NOT_NUMBERS, FlexjointError, InputError, RobotError, shown
from .types import FloatArray

ROUNDING = 1e-9  # relative; a smaller violation of an inequality is put down to rounded data
SHORTEST, LONGEST = 1e-12, 1e12  # s; powers of such times, up to the tenth, are far from the ends of the doubles


def real(value: Any) -> np.ndarray:
    """A new array of doubles; unlike `np.array(x, dtype=float)` this takes neither texts nor complex arrays."""
    array = np.array(value)
    if array.dtype.kind not in "biufO":
        raise TypeError(f"{array.dtype} is no kind of real number")
    return array.astype(float, copy=False)


def number_array(owner: str, what: str, value: Any) -> np.ndarray:
    """Real numbers, finite or not, as a new array of doubles."""
    try:
        return real(value)
    except NOT_NUMBERS:
        raise InputError(f"{owner}: {what} must be real numbers, not {shown(value)}") from None


def finite(owner: str, what: str, value: Any) -> np.ndarray:
    array = number_array(owner, what, value)
    if not np.isfinite(array).all():
        if array.size > 10:
            index = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
            raise InputError(f"{owner}: {what}{list(index)} is {array[index]}; every number must be finite")
        raise InputError(f"{owner}: {what} is {array.tolist()}; every number must be finite")
    return array


def frozen(array: np.ndarray) -> np.ndarray:
    """The array itself, read-only."""
    array.flags.writeable = False
    return array


def point(owner: str, what: str, value: Any) -> np.ndarray:
    """One finite number per joint, a read-only array (n,)."""
    array = finite(owner, what, value)
    if array.ndim != 1:
        raise InputError(f"{owner}: {what} has shape {array.shape}; it must be (n,), one number per joint")
    return frozen(array)


def two_points(owner: str, start: Any, goal: Any) -> tuple[np.ndarray, np.ndarray]:
    start, goal = point(owner, "start", start), point(owner, "goal", goal)
    if start.shape != goal.shape:
        raise InputError(f"{owner}: start has {start.size} joints and goal {goal.size}; give both the same")
    return start, goal


def rows(owner: str, what: str, value: Any, least: int) -> np.ndarray:
    """One point per row, a read-only array (m, n) with at least `least` rows."""
    array = finite(owner, what, value)
    if array.ndim != 2:
        raise InputError(f"{owner}: {what} has shape {array.shape}; it must be (m, n), one row per point")
    if len(array) < least:
        raise InputError(f"{owner}: {what} has {len(array)} rows; {least} are the least")
    return frozen(array)


def increasing(owner: str, what: str, value: Any, length: int) -> np.ndarray:
    """`length` times, each later than the one before."""
    array = finite(owner, what, value)
    if array.shape != (length,):
        raise InputError(f"{owner}: {what} has shape {array.shape}; it must be ({length},), one time per row")
    late = np.flatnonzero(np.diff(array) <= 0)
    if late.size:
        i = int(late[0])
        raise InputError(f"{owner}: {what}[{i + 1}] = {array[i + 1]} does not come after {what}[{i}] = {array[i]}")
    return frozen(array)


def number(
    owner: str,
    what: str,
    value: Any,
    wanted: str = "a finite number",
    error: type[FlexjointError] = InputError,
) -> float:
    """A finite number as a float; `wanted` ends the message."""
    try:
        array = real(value)
    except NOT_NUMBERS:
        array = np.array(math.nan)
    if isinstance(value, bool | np.bool_) or array.ndim or not np.isfinite(array):
        raise error(f"{owner}: {what} is {shown(value)}; it must be {wanted}")
    return float(array)


def positive(owner: str, what: str, value: Any, hint: str = "", error: type[FlexjointError] = InputError) -> float:
    """A finite number above zero; `hint` ends the message, such as ", in Hz"."""
    wanted = f"a positive number{hint}"
    found = number(owner, what, value, wanted, error)
    if found <= 0:
        raise error(f"{owner}: {what} is {shown(value)}; it must be {wanted}")
    return found


def duration(owner: str, what: str, value: Any) -> float:
    """A time in s that derivatives of a motion can be divided by."""
    return seconds(owner, what, positive(owner, what, value, " of seconds"))


def seconds(owner: str, what: str, value: float) -> float:
    """A time that derivatives of the motion can be divided by."""
    if not SHORTEST <= value <= LONGEST:
        raise InputError(f"{owner}: {what} is {value:g} s; it must lie between {SHORTEST:g} and {LONGEST:g} s")
    return value


def whole(owner: str, what: str, value: Any, least: int = 0, largest: float = math.inf) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(f"{owner}: {what} is {shown(value)}; it must be {least}, {least + 1}, {least + 2}, ...")
    if number > largest:
        raise InputError(f"{owner}: {what} is {shown(number)}; the largest is {largest}")
    return number


def entries(owner: str, what: str, value: Any, size: int) -> FloatArray:
    """One number for all entries, or `size` numbers, as a read-only array (size,)."""
    try:
        array = real(value)
    except NOT_NUMBERS:
        array = None
    if array is None or value is None:  # NumPy takes None for NaN
        raise InputError(f"{owner}: {what} must be a number or {size} numbers, not {shown(value)}")
    if array.shape not in ((), (1,), (size,)):
        raise InputError(f"{owner}: {what} has shape {array.shape}; give a number or ({size},)")
    return frozen(np.broadcast_to(array, (size,)).copy())


def finite_numbers(owner: str, what: str, value: Any, size: int, least: float = -math.inf) -> FloatArray:
    """`entries` that are finite, none below `least`."""
    array = entries(owner, what, value, size)
    if not np.all((array >= least) & np.isfinite(array)):
        bound = f" and at least {least:g}" if least > -math.inf else ""
        raise InputError(f"{owner}: {what} is {shown(array.tolist())}; every number must be finite{bound}")
    return array


def positive_numbers(owner: str, what: str, value: Any, size: int, *, infinite: bool = False) -> FloatArray:
    """`entries` that are positive, and finite unless `infinite` ones are allowed."""
    array = entries(owner, what, value, size)
    if not np.all((array > 0) & (infinite | np.isfinite(array))):
        given = shown(np.asarray(value, dtype=float).tolist())
        bound = "" if infinite else " and finite"
        raise InputError(f"{owner}: {what} is {given}; every number must be positive{bound}")
    return array


def gain_rows(owner: str, names: Sequence[str], gains: Any, n: int, least: float = 0.0) -> FloatArray:
    """Gains as a read-only array (number of gains, n): for each name a number or one per joint, none below `least`."""
    try:
        rows = list(gains)
    except TypeError:
        rows = []
    if len(rows) != len(names):
        raise InputError(f"{owner}: gains must be [{', '.join(names)}], each a number or {n} numbers, not {gains!r}")
    return frozen(np.stack([finite_numbers(owner, name, row, n, least) for name, row in zip(names, rows)]))


# Numbers of a robot -------------------------------------------------------------------------------------------------


def is_number(value: object) -> bool:
    """Whether a value is a real number that a double can hold; a fraction is none that kernels take."""
    too_large = isinstance(value, int) and abs(value) >= 2**1023
    fraction = isinstance(value, numbers.Rational) and not isinstance(value, numbers.Integral)
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not too_large and not fraction


def check_finite(what: str, owner: str, value: Any) -> None:
    """Refuse numbers that are not all finite."""
    try:
        finite = bool(np.isfinite(np.asarray(value, dtype=float)).all())
    except NOT_NUMBERS:
        finite = False
    if not finite:
        value = value.tolist() if isinstance(value, np.ndarray) else value
        raise RobotError(f"{what} of '{owner}' is {shown(value)}: every number must be finite")


def check_number(what: str, owner: str, value: object) -> None:
    """Refuse what is not one finite number."""
    if not is_number(value):
        raise RobotError(f"{what} of '{owner}' is {shown(value)}: it must be a number")
    check_finite(what, owner, value)
