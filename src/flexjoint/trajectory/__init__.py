"""Motions of the joints: a trajectory maps time to q and its derivatives, stacked (order + 1, ..., n).

`Trajectory` (base.py) is the one interface: `duration`, `n`, `smoothness`, and a call with t and `order`.
"""

from .base import Trajectory, require_smoothness
from .files import load_stiffness, load_trajectory
from .filtered_step import FilteredStep
from .polynomial import RestToRest
from .retiming import Joined, Retimed, Scaled
from .samples import Samples
from .sinusoid import Sinusoid
from .spline import Spline
from .stiffness import MotionAndStiffness

__all__ = [
    "FilteredStep",
    "Joined",
    "MotionAndStiffness",
    "RestToRest",
    "Retimed",
    "Samples",
    "Scaled",
    "Sinusoid",
    "Spline",
    "Trajectory",
    "load_stiffness",
    "load_trajectory",
    "require_smoothness",
]
