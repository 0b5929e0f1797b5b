"""Figures of torques, simulations, rotor models and detections."""

from .detections import plot_detections
from .figures import check_plot_path, panels, plot_motors
from .rotor_models import plot_rotor_models
from .simulations import plot_simulation, simulation_panels

__all__ = [
    "check_plot_path",
    "panels",
    "plot_detections",
    "plot_motors",
    "plot_rotor_models",
    "plot_simulation",
    "simulation_panels",
]
