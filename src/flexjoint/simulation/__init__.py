"""Simulation of robots under control: the plant, its instruments, integrators, the loop as one kernel, its results."""

from .actuators import Actuators
from .faults import FaultyActuators
from .plant import Plant
from .reference_solution import reference_solution
from .rest import at_rest
from .result import Simulation
from .sensors import Sensors
from .simulate import simulate
from .stops import Stops

__all__ = [
    "Actuators",
    "FaultyActuators",
    "Plant",
    "Sensors",
    "Simulation",
    "Stops",
    "at_rest",
    "reference_solution",
    "simulate",
]
