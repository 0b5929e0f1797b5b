"""Simulation of robots under control: plant, sensors, actuators, integrators, the closed loop as a kernel, results."""

from .actuators import Actuators
from .end_stops import EndStops
from .equilibrium import at_rest
from .faults import FaultyActuators
from .plant import Plant
from .reference_solution import reference_solution
from .result import Simulation
from .sensors import Sensors
from .simulate import simulate

__all__ = [
    "Actuators",
    "EndStops",
    "FaultyActuators",
    "Plant",
    "Sensors",
    "Simulation",
    "at_rest",
    "reference_solution",
    "simulate",
]
