"""Simulation of robots under control: the plant, integrators, the closed loop as one kernel, and its results."""

from .adaptive import reference_solution
from .linearize import LinearModel, joint_eigenfrequencies, linearize
from .plant import Plant
from .rest import at_rest
from .result import Simulation
from .simulate import simulate

__all__ = [
    "LinearModel",
    "Plant",
    "Simulation",
    "at_rest",
    "joint_eigenfrequencies",
    "linearize",
    "reference_solution",
    "simulate",
]
