"""Figures: motor torques, simulations, Monte-Carlo studies, rotor models and detections.

Every `plot_` function returns a matplotlib Figure and writes it to a path if one is given.
"""

from .detections import plot_detections as plot_detections
from .figures import check_plot_path as check_plot_path
from .monte_carlo import plot_monte_carlo as plot_monte_carlo
from .motor_tables import panels as panels, plot_motors as plot_motors
from .rotor_models import plot_rotor_models as plot_rotor_models
from .simulations import plot_simulation as plot_simulation, simulation_panels as simulation_panels
