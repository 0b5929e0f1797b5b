"""The curves of one joint with a line at the time shown, as a uPlot chart; its texts are never names from files."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..plots.figures import DEFLECTION, ERROR, GREY, LIMIT, LINK, MOTOR, REFERENCE, RESIDUAL, THRESHOLD, TORQUE
from ..types import FloatArray
from .motion import Motion

if TYPE_CHECKING:
    import viser

QUANTITIES = ("position", "error", "deflection", "motor torque", "residual")
MOST_POINTS = 600  # per curve
HEIGHT = 190  # pixels
SMALL = 0.02  # largest values below this are shown in powers of ten
ALARM, DASHED = "detected", ("before", "threshold", "−threshold")
DASH, WIDE = (6, 4), 4.0


class JointPlot:
    """A chart of the first motion.

    Args:
        server: The viser server.
        motion: The motion.
        units: Unit and factor from SI of each joint's positions.
    """

    def __init__(self, server: viser.ViserServer, motion: Motion, units: list[tuple[str, float]]) -> None:
        self.server, self.motion, self.units = server, motion, units
        self.joint, self.quantity = 0, QUANTITIES[0]
        self.before: Motion | None = None
        self.old = False
        self.rows = shown_rows(motion)
        self.chart: Any = None
        self.curves: list[FloatArray] = []

    @property
    def known(self) -> list[str]:
        """The quantities that the motion has."""
        motion = self.motion
        given = {"error": motion.reference, "deflection": motion.deflection}
        given |= {"motor torque": motion.tau, "residual": motion.residual}
        return [name for name in QUANTITIES if name == "position" or given[name] is not None]

    def replace(self, motion: Motion, old: bool, t: float) -> None:
        """Draw another motion, with the curve of the one before in grey; or the same one, marked as old."""
        if not old:
            self.before = self.motion if np.array_equal(self.motion.t, motion.t) else None
            self.motion, self.rows = motion, shown_rows(motion)
        self.old = old
        self.choose(self.joint, self.quantity, t)

    def choose(self, joint: int, quantity: str, t: float) -> None:
        """Draw the curves of a joint."""
        self.joint, self.quantity = joint, quantity
        found, unit = self._curves(self.motion)
        if self.before is not None:
            _, earlier, _ = self._curves(self.before)[0][0]
            found.append(("before", earlier, GREY))
        scale, power = readable(found[0][1])
        unit = f"{power} {unit}" if power else unit
        self.curves = [scale * x[self.rows] for _, x, _ in found]
        series: list[dict[str, Any]] = [{"label": "t, s"}]
        for name, _, colour in found:
            dash = {"dash": DASH} if self.old or name in DASHED else {}
            text = f"{name} (old), {unit}" if self.old else f"{name}, {unit}"
            series.append({"label": text, "stroke": colour, "width": WIDE if name == ALARM else 1.5, **dash})
        series.append({"label": "now", "stroke": GREY, "width": 1})
        axes = ({"size": 32}, {"size": 58})
        scales = self._scales()
        options: dict[str, Any] = {"scales": scales, "axes": axes, "height": HEIGHT, "legend": {"show": True}}
        data = self._data(t)
        if self.chart is None:
            self.chart = self.server.gui.add_uplot(data, tuple(series), **options)  # type: ignore[arg-type]
        else:
            with self.server.atomic():
                self.chart.series, self.chart.scales, self.chart.data = tuple(series), scales, data

    def show(self, t: float) -> None:
        """Move the line."""
        if self.chart is not None:
            self.chart.data = self._data(t)

    def _curves(self, motion: Motion) -> tuple[list[tuple[str, FloatArray, str]], str]:
        """Name, values and colour of each curve, and their unit."""
        i = self.joint
        unit, factor = self.units[i]
        kind = motion.robot.joints[i].kind
        if self.quantity == "error" and motion.reference is not None:
            return [("q_d − q", factor * (motion.reference[:, i] - motion.q[:, i]), ERROR)], unit
        if self.quantity == "deflection" and motion.deflection is not None:
            return [("θ − q", factor * motion.deflection[:, i], DEFLECTION)], unit
        if self.quantity == "motor torque" and motion.tau is not None:
            own = [k for k, joint in enumerate(motion.robot.motor_joints) if joint == i]
            colours = (TORQUE, MOTOR)
            names = ("τ",) if len(own) == 1 else ("τ₁", "τ₂")
            return [(name, motion.tau[:, k], c) for name, k, c in zip(names, own, colours)], kind.unit("Nm | N")
        if self.quantity == "residual" and motion.residual is not None:
            return self._residual(motion, motion.residual[:, i]), kind.unit("Nm | N")
        found = [("q", factor * motion.q[:, i], LINK)]
        if motion.motors is not None:
            found.append(("θ", factor * motion.motors[:, i], MOTOR))
        if motion.reference is not None:
            found.append(("reference", factor * motion.reference[:, i], REFERENCE))
        return found, unit

    def _residual(self, motion: Motion, r: FloatArray) -> list[tuple[str, FloatArray, str]]:
        """Curves of the residual, of its threshold, and of the samples above the threshold: the alarm."""
        found = [("r", r, RESIDUAL)]
        if motion.threshold is not None:
            level = np.full(len(r), motion.threshold[self.joint])
            found += [("threshold", level, THRESHOLD), ("−threshold", -level, THRESHOLD)]
            found.append((ALARM, np.where(np.abs(r) > level, np.sign(r) * level, np.nan), LIMIT))
        return found

    def _range(self) -> tuple[float, float]:
        """Ends of the ordinate, a little beyond the curves."""
        values = np.concatenate(self.curves)
        values = values[np.isfinite(values)]
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
        more = 0.05 * (high - low) or max(abs(high), 1e-3)
        return low - more, high + more

    def _scales(self) -> dict[str, Any]:
        """Axes with fixed limits: the vertical line is NaN elsewhere, and uPlot cannot scale axes by NaN."""
        times = self.motion.t
        return {
            "x": {"time": False, "auto": False, "range": (float(times[0]), float(times[-1]))},
            "y": {"auto": False, "range": self._range()},
        }

    def _data(self, t: float) -> tuple[FloatArray, ...]:
        """Times and curves with a vertical line at t, where two interpolated samples are inserted."""
        times = self.motion.t[self.rows]
        k = int(np.searchsorted(times, t, side="right"))
        line = np.full(len(times) + 2, np.nan)
        line[k : k + 2] = self._range()
        found = [np.insert(times, [k, k], t)]
        found += [np.insert(x, [k, k], np.interp(t, times, x)) for x in self.curves]
        return (*found, line)


def readable(values: FloatArray) -> tuple[float, str]:
    """A factor for small values, and the power of ten to write before their unit: charts show three decimals."""
    largest = float(np.max(np.abs(np.nan_to_num(values)), initial=0.0))
    if largest == 0 or largest >= SMALL:
        return 1.0, ""
    exponent = 3 * math.floor(math.log10(largest) / 3)
    digits = str(-exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return 10.0**-exponent, f"10⁻{digits}"


def shown_rows(motion: Motion) -> NDArray[np.int64]:
    """Samples that a chart shows."""
    return np.unique(np.linspace(0, len(motion.t) - 1, MOST_POINTS).astype(int))
