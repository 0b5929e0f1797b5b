"""Numbers with names and ranges, changed by name or by pattern."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite
from ..errors import InputError, listed, quoted
from .settings import Setting


class Adjustable:
    """Base class of objects with settings; subclasses fill both dictionaries.

    Attributes:
        settings: The numbers by name, with their ranges.
    """

    settings: dict[str, Setting]
    _values: dict[str, float]

    def __getitem__(self, name: str) -> float:
        return self._values[self._known(name)[0]]

    def set(self, name: str, value: float | ArrayLike) -> None:
        """Change a number, or all that a pattern selects.

        Args:
            name: Of one of the `settings`, such as "payload"; or a pattern, such as "*.drive.stiffness".
            value: In the unit of the setting, within its range; for a pattern one number, or one each.

        Raises:
            InputError: There is no such setting, or the value is outside its range.
        """
        names = self._known(name)
        values = np.broadcast_to(finite("set", name, value), (len(names),)).tolist()
        for each, x in zip(names, values):
            setting = self.settings[each]
            slack = 1e-9 * (setting.high - setting.low)
            if not setting.low - slack <= x <= setting.high + slack:
                ends = f"{setting.low:.6g} to {setting.high:.6g} {setting.unit}"
                raise InputError(f"set: {quoted(each)} is {x:g}; it must be within {ends}")
        self._values |= dict(zip(names, values))

    def _known(self, name: str) -> list[str]:
        """The settings of a name or a pattern."""
        if name in self.settings:
            return [name]
        found = [x for x in self.settings if fnmatchcase(x, name)]
        if not found:
            raise InputError(f"there is no setting {quoted(name)!r}; there are {listed(self.settings, most=20)}")
        return found

    @property
    def values(self) -> dict[str, float]:
        """A copy of all numbers, by the names of their settings."""
        return dict(self._values)
