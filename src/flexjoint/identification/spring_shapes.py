"""Spring laws that are linear in their parameters: τ_s = Σ k_j b_j(φ − φ_0).

linear      K φ
cubic       K φ + K_c φ³
piecewise   stiffness k_j at given deflections x_j, linear between them (`fj.springs.PiecewiseSpring`)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..springs import CubicSpring, PiecewiseSpring, Spring
from ..types import FloatArray

LAWS = ("linear", "cubic", "piecewise")


@dataclass(frozen=True)
class SpringShape:
    """The form of a spring law.

    Args:
        law: linear, cubic or piecewise.
        points: Deflections of a piecewise law, from 0 on, rad or m; by default none.
    """

    law: str = "linear"
    points: tuple[float, ...] = ()

    @property
    def bent(self) -> bool:
        """Whether the law is not linear."""
        return self.law != "linear"

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of its parameters, in the order of the shapes; the first is the stiffness at rest."""
        more = {"cubic": ("cubic",), "piecewise": tuple(f"stiffness_{k}" for k in range(1, len(self.points)))}
        return ("stiffness", *more.get(self.law, ()))

    def numbers(self, law: Spring) -> list[tuple[str, str, float, float]]:
        """Kind, path in the drive, value in a law that is known before, and scale of each parameter."""
        if self.law == "linear":
            K = float(law.curve(0.0).stiffness)
            return [("stiffness", "stiffness", K, K)]
        if self.law == "cubic":
            K = float(law.curve(0.0).stiffness)
            cubic = law.cubic if isinstance(law, CubicSpring) else 0.0
            return [("stiffness", "stiffness.stiffness", K, K), ("cubic", "stiffness.cubic", cubic, 1e4 * K)]
        values = [float(law.curve(x).stiffness) for x in self.points]
        return [(kind, f"stiffness.stiffnesses.{k}", x, x) for k, (kind, x) in enumerate(zip(self.kinds, values))]

    @cached_property
    def bends(self) -> FloatArray:
        """Changes of dk/dφ at each point, per unit of each stiffness, (points, points)."""
        width = np.diff(self.points)
        slopes = np.zeros((len(self.points) + 1, len(self.points)))  # before each point and after the last
        for j, h in enumerate(width):
            slopes[j + 1, [j, j + 1]] = -1 / h, 1 / h
        return np.diff(slopes, axis=0)

    def shapes(self, phi: Any, largest: Callable[[Any, Any], Any] = np.maximum) -> list[Any]:
        """b_j(φ): arrays, or SX with casadi.fmax."""
        if self.law == "cubic":
            return [phi, phi**3]
        if self.law == "linear":
            return [phi]
        passed = [largest(phi - x, 0) ** 2 - largest(-phi - x, 0) ** 2 for x in self.points]
        found = [sum(b / 2 * y for b, y in zip(column, passed) if b) for column in self.bends.T]
        return [phi + found[0], *found[1:]]

    def slopes(self, phi: FloatArray) -> list[FloatArray]:
        """db_j/dφ."""
        if self.law == "cubic":
            return [np.ones_like(phi), 3 * phi**2]
        if self.law == "linear":
            return [np.ones_like(phi)]
        passed = [np.maximum(phi - x, 0) + np.maximum(-phi - x, 0) for x in self.points]
        found = [np.sum([b * y for b, y in zip(column, passed)], axis=0) for column in self.bends.T]
        return [1 + found[0], *found[1:]]

    def spring(self, values: Mapping[str, float]) -> float | Spring:
        """The law with numbers by kind; the stiffness alone if it is linear."""
        numbers = [values[kind] for kind in self.kinds]
        if self.law == "cubic":
            return CubicSpring(numbers[0], max(numbers[1], 0.0))
        return PiecewiseSpring(self.points, numbers) if self.law == "piecewise" else numbers[0]


LINEAR = SpringShape()


def shape_of(spring: Spring) -> SpringShape:
    """The form of a robot's law; linear for laws that are not estimated."""
    if isinstance(spring, CubicSpring):
        return SpringShape("cubic")
    if isinstance(spring, PiecewiseSpring) and len(spring.deflections) > 1:
        return SpringShape("piecewise", tuple(spring.deflections))
    return LINEAR
