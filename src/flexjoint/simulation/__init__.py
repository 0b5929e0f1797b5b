"""Simulation of robots under control: plant, sensors, actuators, integrators, the closed loop as a kernel, results."""

from ..boundary import public
from .actuators import Actuators as Actuators
from .end_stops import EndStops as EndStops
from .equilibrium import at_rest as at_rest
from .faults import FaultyActuators as FaultyActuators
from .plant import Plant as Plant, PlantState as PlantState
from .push import Push as Push
from .reference_solution import reference_solution as reference_solution
from .result import Simulation as Simulation
from .sensors import Sensors as Sensors
from .simulate import simulate as simulate

public(__name__)
