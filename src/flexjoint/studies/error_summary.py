"""Tracking errors of a batch of runs in a few numbers per run."""

from __future__ import annotations

import numpy as np

from ..simulation.result import Simulation

ERRORS = ("largest", "rms", "final")  # errors |q − q_d| of a joint: largest, root mean square, at the end


def error_summary(run: Simulation) -> dict[str, np.ndarray]:
    """Largest, root-mean-square and last |q − q_d| per joint, (rows, n), until the end; when and where it diverged.

    A single run is one row.
    """
    errors = np.abs(run.error).reshape(-1, *run.error.shape[-2:])
    place = np.reshape(run.periods, (-1, 1, 1)).astype(int)
    return {
        "largest": np.nanmax(errors, axis=1),
        "rms": np.sqrt(np.nanmean(errors**2, axis=1)),
        "final": np.take_along_axis(errors, place, axis=1)[:, 0],
        "ended": np.reshape(run.ended, -1),
        "joint": np.reshape(run.joint, -1),
    }


def merit_text(of: str) -> str:
    """A figure of merit in words: "largest error of joint1"; a name that is no error stays as it is."""
    kind, dot, joint = of.partition(".")
    return f"{kind} error{f' of {joint}' if dot else ''}" if kind in ERRORS else of
