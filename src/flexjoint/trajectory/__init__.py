"""Motions of the joints: a trajectory maps time to q and its derivatives, stacked (order + 1, ..., n).

`Trajectory` (base.py) is the one interface: `duration`, `n`, `smoothness`, and a call with t and `order`.
"""

from .base import Trajectory, require_smoothness
from .polynomial import RestToRest

__all__ = ["RestToRest", "Trajectory", "require_smoothness"]
