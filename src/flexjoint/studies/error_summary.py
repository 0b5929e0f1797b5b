"""Tracking errors of a batch of runs in a few numbers per run."""

from __future__ import annotations

import numpy as np

from ..simulation.result import Simulation

ERRORS = ("largest", "rms", "final")


def error_summary(run: Simulation) -> dict[str, np.ndarray]:
    """Largest, root-mean-square and last |q − q_d| per joint, (rows, n), until the end; when and where it diverged."""
    errors = np.abs(run.error)
    place = np.asarray(run.periods, dtype=int)[:, None, None]
    return {
        "largest": np.nanmax(errors, axis=1),
        "rms": np.sqrt(np.nanmean(errors**2, axis=1)),
        "final": np.take_along_axis(errors, place, axis=1)[:, 0],
        "ended": run.ended,
        "joint": run.joint,
    }


def merit_text(of: str) -> str:
    """A figure of merit in words: "largest error of joint1"; a name that is no error stays as it is."""
    kind, dot, joint = of.partition(".")
    return f"{kind} error{f' of {joint}' if dot else ''}" if kind in ERRORS else of
