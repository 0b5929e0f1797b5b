"""Gap-free parts of a log on a uniform time grid, with smoothed positions, velocities and accelerations, and spectra.

Positions are differentiated in the frequency domain by a low-pass that is flat up to twice the bandwidth of the
estimation and zero from four times on, without a phase shift.  An equation of motion holds at every sample, so it may
be multiplied by a taper and transformed: its spectrum up to the bandwidth is what the estimation fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, listed
from ..logs import Log
from ..observers.stamps import classify_stamps
from ..types import FloatArray

ComplexArray = NDArray[np.complex128]

SHARE = 20.0  # sampling rate over the default bandwidth
WIDEST = 50.0  # Hz, the default bandwidth of fast logs
LONGEST = 120.0  # s; longer parts are cut
FEWEST = 200  # samples of a part
SHORTEST = 20.0  # periods of the bandwidth in a part
JITTER = 0.02  # of a period: stamps that deviate more are resampled
GAP = 2.5  # periods without a sample: a new part begins
TAPER = 0.05  # share of a part that is faded in, and out
COLUMNS = 32  # signals that are transformed at once
REFLECTED = 20.0  # periods of the bandwidth by which a part is continued before it is filtered


@dataclass(frozen=True, eq=False)
class Recording:
    """A part of a log with m samples, one period apart; None for what was not logged.

    Args:
        period: Time between samples, s.
        start: Time of the first sample, s.
        bandwidth: Highest frequency that is fitted, Hz.
        q, theta: Positions of links and motors, (m, n), rad or m.
        tau, tau_e: Torques of the motors and of torque sensors, (m, n), Nm or N.
        reference: Desired link positions, (m, n), rad or m.
        windows: Weight of each sample in the equations of each joint, (m, n), 0 to 1; None for ones.
    """

    period: float
    start: float
    bandwidth: float
    q: FloatArray
    theta: FloatArray | None = None
    tau: FloatArray | None = None
    tau_e: FloatArray | None = None
    reference: FloatArray | None = None
    windows: FloatArray | None = None

    @property
    def count(self) -> int:
        """Number of samples."""
        return len(self.q)

    @property
    def every(self) -> int:
        """Samples from one to the next of the coarse grid, on which the link equations are evaluated."""
        return max(1, int(0.2 / (self.period * self.bandwidth)))

    @cached_property
    def frequencies(self) -> FloatArray:
        """Frequencies up to the bandwidth, Hz."""
        found = np.arange(self.count // 2 + 1) / (self.count * self.period)
        return found[found <= self.bandwidth]

    def motion(self, name: str, passband: float | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A smoothed position with its two derivatives, (m, n) each.

        Args:
            name: q, theta or reference.
            passband: Frequency up to which it is kept, Hz; by default twice the bandwidth.
        """
        x = getattr(self, name)
        edge = 2.0 * self.bandwidth if passband is None else passband
        found = smoothed(x, self.period, edge, range(3))
        return found[0], found[1], found[2]

    def smooth(self, passband: float) -> Recording:
        """The recording behind a low-pass.

        Args:
            passband: Frequency up to which signals are kept, Hz.
        """

        def low(x: FloatArray | None) -> FloatArray | None:
            return None if x is None else np.ascontiguousarray(smoothed(x, self.period, passband, range(1))[0])

        q = low(self.q)
        assert q is not None
        return replace(self, q=q, theta=low(self.theta), tau=low(self.tau), tau_e=low(self.tau_e))

    def spectrum(self, x: FloatArray, every: int = 1, joint: int | None = None) -> ComplexArray:
        """Spectrum of signals (m, ...) under taper and windows, (frequencies, ...); |.|² is a power density.

        Args:
            x: Signals, on the grid of every `every`-th sample.
            every: See x.
            joint: Whose equations they belong to; by default None: x is (m, n, ...), with one column per joint.
        """
        from scipy.fft import rfft

        if self.windows is not None:
            windows = self.windows[::every] if joint is None else self.windows[::every, joint]
            x = x * windows.reshape(windows.shape + (1,) * (x.ndim - windows.ndim))
        whole = x.reshape(len(x), -1)
        found = np.empty((len(self.frequencies), whole.shape[1]), dtype=complex)
        scale = every * np.sqrt(self.period / self.count) * taper(len(x))
        for k in range(0, whole.shape[1], COLUMNS):  # contiguous rows are transformed several times as fast
            found[:, k : k + COLUMNS] = rfft(whole[:, k : k + COLUMNS].T * scale)[:, : len(found)].T
        return found.reshape(len(found), *x.shape[1:])

    def filtered(self, x: FloatArray) -> FloatArray:
        """Signals (m, ...) behind the low-pass of the positions where windows need it: an equation must be filtered as
        a whole before samples are weighted."""
        return x if self.windows is None else smoothed(x, self.period, 2.0 * self.bandwidth, range(1))[0]

    def spread(self, joint: int) -> float:
        """Growth of variances because weighted samples correlate neighbouring frequencies: mean(w⁴)/mean(w²)²."""
        w2 = taper(self.count) ** 2 * (1.0 if self.windows is None else self.windows[:, joint] ** 2)
        return float(np.mean(w2**2) / np.mean(w2) ** 2)

    def kept(self, joint: int) -> float:
        """Share of the power of a noise that taper and windows leave."""
        w2 = taper(self.count) ** 2 * (1.0 if self.windows is None else self.windows[:, joint] ** 2)
        return float(np.mean(w2))

    def whole(self, joint: int) -> NDArray[np.bool_]:
        """Samples that neither taper nor windows reduce, (m,)."""
        found: NDArray[np.bool_] = taper(self.count) == 1
        return found if self.windows is None else found & (self.windows[:, joint] == 1)

    def signal(self, spectrum: ComplexArray) -> FloatArray:
        """The signal (m,) under the taper with this spectrum, within the bandwidth."""
        whole = np.zeros(self.count // 2 + 1, dtype=complex)
        whole[: len(spectrum)] = spectrum / np.sqrt(self.period / self.count)
        return np.fft.irfft(whole, self.count)

    def held(self, tau: FloatArray, delay: float) -> FloatArray:
        """A torque that each sample holds for one period, seen `delay` s later, at the times of the samples."""
        h = self.period

        def hold(f: FloatArray) -> ComplexArray:
            return np.sinc(f * h) * np.exp(-2j * np.pi * f * (h / 2 + delay))

        return transformed(tau, h, hold)

    def shifted(self, tau: FloatArray, delay: float) -> FloatArray:
        """A signal seen `delay` s later."""
        return transformed(tau, self.period, lambda f: np.exp(-2j * np.pi * f * delay)) if delay else tau


def recordings(log: Log, bandwidth: float | None, windows: FloatArray | None = None) -> list[Recording]:
    """The usable parts of a log.

    Args:
        log: A log with q.
        bandwidth: Highest frequency to fit, Hz; by default 1/20 of the sampling rate, at most 50 Hz.
        windows: Weight of each sample in the equations of each joint, (samples, n), 0 to 1; by default ones.

    Raises:
        InputError: No part is long enough, or the bandwidth is too high.
    """
    assert log.q is not None
    h, band = log.period, fitted_bandwidth(log, bandwidth)
    logged = [name for name in ("q", "theta", "tau", "tau_e", "reference") if getattr(log, name, None) is not None]
    found = []
    for part in parts(log, logged):
        t = log.t[part]
        least = max(FEWEST, int(SHORTEST / (band * h)))
        step = int(LONGEST / h)
        for first in range(0, len(t), step):
            cut = slice(first, first + step)
            if len(t[cut]) >= least:
                arrays = {name: getattr(log, name)[part][cut] for name in logged}
                if windows is not None:
                    arrays["windows"] = windows[part][cut]
                found.append(uniform(t[cut], h, band, arrays))
    if not found:
        raise InputError(
            f"no part of the log without gaps has {max(FEWEST, int(SHORTEST / (band * h)))} samples; log longer, or "
            f"raise the bandwidth of {band:g} Hz"
        )
    return found


def fitted_bandwidth(log: Log, bandwidth: float | None) -> float:
    """Highest frequency that is fitted, Hz; the default if None is wanted.

    Raises:
        InputError: It is too high for the sampling rate.
    """
    h = log.period
    band = min(1 / (SHARE * h), WIDEST) if bandwidth is None else bandwidth
    if not 0 < band <= 0.125 / h:
        raise InputError(
            f"bandwidth is {band:g} Hz; at a period of {h:g} s it must be positive, at most {0.125 / h:g} Hz"
        )
    return band


def parts(log: Log, names: list[str]) -> Iterator[NDArray[np.int64]]:
    """Samples of each part of a log without lost samples and with increasing times."""
    usable = classify_stamps(log.t).kept
    for name in names:
        usable &= np.all(np.isfinite(getattr(log, name)), axis=1)
    kept = np.flatnonzero(usable)
    if not kept.size:
        raise InputError(f"every sample of the log has a number that is not finite, in {listed(names)}")
    steps = np.diff(log.t[kept])
    breaks = np.flatnonzero((steps > GAP * log.period) | (steps <= 0)) + 1
    yield from np.split(kept, breaks)


def uniform(t: FloatArray, h: float, band: float, arrays: dict[str, FloatArray]) -> Recording:
    """A part on a uniform grid; where stamps deviate, positions are interpolated by splines."""
    period = float(t[-1] - t[0]) / (len(t) - 1)
    grid = t[0] + period * np.arange(len(t))
    if np.abs(grid - t).max() > JITTER * h:
        from scipy.interpolate import CubicSpline

        period = h
        grid = t[0] + period * np.arange(int((t[-1] - t[0]) / period) + 1)
        weights = arrays.pop("windows", None)
        arrays = {name: CubicSpline(t, x, axis=0)(grid) for name, x in arrays.items()}
        if weights is not None:
            arrays["windows"] = np.column_stack([np.interp(grid, t, x) for x in weights.T])
    every = max(1, int(0.2 / (period * band)))
    count = fast_count(len(grid), 2 * every)
    return Recording(period, float(t[0]), band, **{name: x[:count] for name, x in arrays.items()})


def fast_count(count: int, unit: int) -> int:
    """A number of samples that both grids share and that is transformed fast, little below `count`."""
    from scipy.fft import prev_fast_len

    return int(prev_fast_len(count // unit, real=True)) * unit


# Filters ------------------------------------------------------------------------------------------------------------


@lru_cache(16)
def taper(count: int) -> FloatArray:
    """One, and faded in and out by half a cosine."""
    x = np.minimum(np.arange(count), count - np.arange(count)) / (TAPER * count)
    return np.where(x < 1, 0.5 - 0.5 * np.cos(np.pi * np.minimum(x, 1.0)), 1.0)


def smoothed(x: FloatArray, h: float, edge: float, orders: range) -> list[FloatArray]:
    """Derivatives of the given orders of signals (m, n), behind a low-pass from `edge` to twice of it, Hz."""
    from scipy.fft import irfft, rfft

    padded, pad = reflected(x, int(REFLECTED / (2 * edge * h)))
    f = np.fft.rfftfreq(len(padded), h)
    X = rfft(np.ascontiguousarray(padded.T)) * smooth_step(2.0 - f / edge)
    return [irfft(X * (2j * np.pi * f) ** k, len(padded))[:, pad : pad + len(x)].T for k in orders]


def transformed(x: FloatArray, h: float, response: Callable[[Any], ComplexArray]) -> FloatArray:
    """Signals (m, n) behind a filter with the given frequency response."""
    from scipy.fft import irfft, rfft

    padded, pad = reflected(x, 200)
    H = response(np.fft.rfftfreq(len(padded), h))
    return irfft(rfft(np.ascontiguousarray(padded.T)) * H, len(padded))[:, pad : pad + len(x)].T


def reflected(x: FloatArray, least: int) -> tuple[FloatArray, int]:
    """Signals continued at both ends by point reflection, so that values and slopes are continuous, and by how much.

    The length is one that is transformed fast.
    """
    from scipy.fft import next_fast_len

    least = min(least, len(x) - 1)
    more = next_fast_len(len(x) + 2 * least, real=True) - len(x)
    pad = min(more // 2, len(x) - 1)
    after = min(more - pad, len(x) - 1)
    return np.concatenate([2 * x[0] - x[pad:0:-1], x, 2 * x[-1] - x[-2 : -after - 2 : -1]]), pad


def smooth_step(x: Any) -> FloatArray:
    """0 below 0, 1 above 1, with three continuous derivatives between."""
    x = np.clip(x, 0.0, 1.0)
    return x**4 * (35 - 84 * x + 70 * x**2 - 20 * x**3)
