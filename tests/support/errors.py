"""The measure of every comparison, and a record of the largest ones: `pytest tests/oracles --worst` prints it."""

import os
from typing import Any

import numpy as np

WORST: dict[str, float] = {}


def relative_error(x: Any, reference: Any) -> float:
    """max|x − ref| / max|ref|; of one number or many."""
    x, reference = np.asarray(x, dtype=float), np.asarray(reference, dtype=float)
    assert x.size == reference.size, f"{x.shape} and {reference.shape}"
    error = float(np.max(np.abs(x.reshape(reference.shape) - reference)) / np.max(np.abs(reference)))
    return recorded(error)


def recorded(error: float) -> float:
    """The error, noted if it is one: large ones are differences that a test wants to see."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").split("[")[0].split(" ")[0]
    if error < 1e-6:
        WORST[test] = max(error, WORST.get(test, 0.0))
    return error
