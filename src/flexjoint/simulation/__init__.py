"""Simulation of robots under control: the plant, its instruments, integrators, the loop as one kernel, its results."""

from .actuators import Actuators
from .adaptive import reference_solution
from .faults import FaultyActuators
from .linearize import LinearModel, joint_eigenfrequencies, linearize
from .plant import Plant
from .rest import at_rest
from .result import Simulation
from .sensors import Sensors
from .simulate import simulate
from .stops import Stops

__all__ = [
    "Actuators",
    "FaultyActuators",
    "LinearModel",
    "Plant",
    "Sensors",
    "Simulation",
    "Stops",
    "at_rest",
    "joint_eigenfrequencies",
    "linearize",
    "reference_solution",
    "simulate",
]
