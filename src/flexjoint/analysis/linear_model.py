"""Linear systems about a state, in continuous time or sampled: poles, damping, frequency and step responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite
from ..errors import InputError
from ..html import table
from ..robot import Robot
from ..types import ComplexArray, FloatArray

Names = str | Sequence[str]
ROUNDING = 1e-6  # relative to the fastest pole: smaller poles and real parts are 0 but for rounding
TINY = 1e-300  # in place of eigenvalues z = 0, of what a sampled loop forgets within a period


class LinearModel(NamedTuple):
    """Linear system x' = A x + B τ, y = C x + D τ for small deviations from a state.

    Args:
        A, B, C, D: The matrices for x = (q, θ, q', θ') with θ of elastic joints only, input τ and output y = q;
            python-control's `ss` and SciPy's `StateSpace` take them.  Under a controller τ is added to its torque.
        states: Names of x; those of a controller's memory follow.
        inputs: Names of the motors of τ.
        columns: Column of B by input.
        rows: Rows of C and of D, over all columns, by output.
        robot: The robot.
        period: Of a sampled loop, s: x(t + period) = A x + B τ with τ held in between.  0 in continuous time.

    `system` gives the matrices of other inputs and outputs by name.  Inputs: `tau.joint1`, the torque of a motor, and
    `load.joint1`, a force on a link; under a controller `reference.joint1`, and its derivatives `reference_d1.joint1`,
    `reference_d2.joint1`, ... as far as the law reads them.  Outputs: the states, the acceleration `a.joint1`,
    `deflection.joint1`, and the spring torque `tau_e.joint1`; under a controller `command.joint1` and `error.joint1`.
    Give several as a pattern, such as `q.*`, or as a list.
    """

    A: FloatArray
    B: FloatArray
    C: FloatArray
    D: FloatArray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    columns: Mapping[str, FloatArray]
    rows: Mapping[str, tuple[FloatArray, FloatArray]]
    robot: Robot
    period: float = 0.0

    def __repr__(self) -> str:
        least = ROUNDING * self.frequencies.max(initial=0.0)
        found = self.frequencies[self.frequencies > least]
        span = f"{found[0]:.4g} to {found[-1]:.4g} rad/s" if found.size else "0 rad/s"
        unstable = np.count_nonzero(self.poles.real > least)
        sampled = f" every {self.period:g} s" if self.period else ""
        return (
            f"<LinearModel of {self.robot.name}{sampled}: {len(self.states)} states, {len(self.inputs)} motors; "
            f"natural frequencies {span}; {unstable} unstable poles>"
        )

    def _repr_html_(self) -> str:
        rows = [
            (f"{pole.real:.4g} {pole.imag:+.4g}i", f"{size:.4g}", f"{damping:.3g}")
            for pole, size, damping in zip(self.poles, self.frequencies, self.damping)
            if pole.imag >= 0
        ]
        caption = f"{self.robot.name}, linear model: {len(self.states)} states, {len(self.inputs)} motors"
        return table(rows, ("pole, 1/s", "frequency, rad/s", "damping ratio"), caption=caption)

    @property
    def poles(self) -> ComplexArray:
        """Poles s, 1/s, the slowest first: eigenvalues of A; of a sampled loop ln(z)/period of its eigenvalues z."""
        values = np.linalg.eigvals(self.A).astype(complex)
        if self.period:
            values = np.log(np.where(values == 0, TINY, values)) / self.period
        return values[np.argsort(np.abs(values), kind="stable")]

    @property
    def stable(self) -> bool:
        """Whether all poles have negative real parts, or zero ones but for rounding."""
        return bool(np.all(self.poles.real <= ROUNDING * self.frequencies.max(initial=0.0)))

    @property
    def frequencies(self) -> FloatArray:
        """Natural frequencies |s| of the poles, rad/s."""
        return np.abs(self.poles)

    @property
    def damping(self) -> FloatArray:
        """Damping ratios −Re s/|s| of the poles: 1 without oscillation, 0 undamped or s = 0, negative if unstable."""
        size = self.frequencies
        return np.where(size > 0, -self.poles.real / np.where(size > 0, size, 1.0), 0.0)

    @property
    def integrates(self) -> bool:
        """Whether a pole is 0, but for rounding: the response at ω = 0 is infinite then."""
        return bool(np.any(self.frequencies <= ROUNDING * self.frequencies.max(initial=0.0)))

    def system(self, inputs: Names = "tau.*", outputs: Names = "q.*") -> tuple[FloatArray, ...]:
        """Matrices (A, B, C, D) for the given inputs and outputs, such as `model.system("load.joint1", "q.*")`.

        Args:
            inputs: A name, a pattern or a list of them; default all motor torques.
            outputs: Likewise; default all link positions.

        Raises:
            InputError: A name matches nothing.
        """
        known = list(self.columns)
        columns, rows = chosen(inputs, known), [self.rows[name] for name in chosen(outputs, list(self.rows))]
        B = np.stack([self.columns[name] for name in columns], axis=1)
        C, D = (np.stack(x) for x in zip(*rows))
        return self.A, B, C, D[:, [known.index(name) for name in columns]]

    def to_control(self, inputs: Names = "tau.*", outputs: Names = "q.*") -> Any:
        """The system as a StateSpace of python-control; `tau.joint1` is called `tau[joint1]` there.

        Args:
            inputs, outputs: As for `system`.

        Raises:
            InputError: Python-control is not installed or a name matches nothing.
        """
        try:
            import control
        except ImportError:
            raise InputError("to_control needs python-control, which is not installed: pip install control") from None
        names = {
            "inputs": bracketed(chosen(inputs, list(self.columns))),
            "outputs": bracketed(chosen(outputs, list(self.rows))),
            "states": bracketed(self.states),
        }
        return control.ss(*self.system(inputs, outputs), self.period or 0, **names)

    def response(self, omega: ArrayLike, inputs: Names = "tau.*", outputs: Names = "q.*") -> ComplexArray:
        """Frequency response C (s − A)⁻¹ B + D, (..., outputs, inputs), complex; s = iω, or z = exp(iω period).

        A `reference` moves with all its derivatives: their responses, times (iω)ᵏ, are part of its own.

        Args:
            omega: Frequencies (...,), rad/s; of a sampled loop up to π/period.
            inputs, outputs: As for `system`.

        Raises:
            InputError: A frequency is that of an undamped pole.
        """
        s = 1j * finite("linear model", "omega", omega)[..., None, None]
        z = np.exp(s * self.period) if self.period else s
        families = [self.with_derivatives(name) for name in chosen(inputs, list(self.columns))]
        found = np.zeros((), dtype=complex)
        for k in range(max(map(len, families))):
            A, B, C, D = self.system([family[min(k, len(family) - 1)] for family in families], outputs)
            weights = s**k * np.array([k < len(family) for family in families])
            try:
                found = found + weights * (C @ np.linalg.solve(z * np.eye(len(A)) - A, B + 0j) + D)
            except np.linalg.LinAlgError:
                raise InputError("linear model: a frequency is that of an undamped pole; take one beside it") from None
        return found

    def with_derivatives(self, name: str) -> list[str]:
        """An input, and the inputs that are its derivatives."""
        kind, _, joint = name.partition(".")
        further = [f"reference_d{k}.{joint}" for k in range(1, len(self.columns)) if kind == "reference"]
        return [name, *(x for x in further if x in self.columns)]

    def step(self, t: ArrayLike, inputs: Names = "tau.*", outputs: Names = "q.*") -> FloatArray:
        """Response to a unit step of each input at t = 0, (times, outputs, inputs).

        The derivatives of a `reference` stay 0.

        Args:
            t: Times (times,), s, equidistant from 0 on; of a sampled loop the outputs are held between its samples.
            inputs, outputs: As for `system`.

        Raises:
            InputError: The times are not equidistant from 0 on.
        """
        times = finite("linear model", "t", t)
        h = float(times[1]) if times.ndim == 1 and times.size > 1 else 0.0
        if h <= 0 or not np.allclose(times, h * np.arange(times.size), rtol=1e-9, atol=0.0):
            raise InputError("linear model: t must be at least two equidistant times from 0 on")
        A, B, C, D = self.system(inputs, outputs)
        turns = np.floor(times / self.period + 1e-9).astype(int) if self.period else np.arange(times.size)
        Phi, Gamma = (A, B) if self.period else held(A, B, h)
        x, found = np.zeros_like(B), []
        for _ in range(turns[-1] + 1):
            found.append(C @ x + D)
            x = Phi @ x + Gamma
        return np.stack(found)[turns]


def held(A: FloatArray, B: FloatArray, h: float) -> tuple[FloatArray, FloatArray]:
    """x(t + h) = Φ x + Γ u of x' = A x + B u with u held: Φ = exp(A h), Γ = ∫ exp(A s) ds B."""
    from scipy.linalg import expm

    size = len(A)
    both = expm(h * np.block([[A, B], [np.zeros((B.shape[1], size + B.shape[1]))]]))
    return both[:size, :size], both[:size, size:]


def bracketed(names: Sequence[str]) -> list[str]:
    """Names without dots, as python-control wants them."""
    parts = [name.partition(".") for name in names]
    return [f"{kind}[{joint.replace('.', '_')}]" for kind, _, joint in parts]


def chosen(names: Names, known: Sequence[str]) -> list[str]:
    """Known names that match a name, a pattern or a list of them, in the order given."""
    found: dict[str, None] = {}
    for pattern in [names] if isinstance(names, str) else names:
        matched = [name for name in known if name == pattern or fnmatchcase(name, pattern)]
        if not matched:
            raise InputError(f"linear model: nothing matches '{pattern}'; there are {', '.join(known)}")
        found |= dict.fromkeys(matched)
    return list(found)
