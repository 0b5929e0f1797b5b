"""Figures: motor torques, simulations, linear systems, Monte-Carlo studies, rotor models, detections and
identifications.

Every `plot_` function returns a matplotlib Figure and writes it to a path if one is given.
"""

from ..boundary import public
from .detections import plot_detections as plot_detections
from .eigenfrequencies import plot_eigenfrequencies as plot_eigenfrequencies
from .figures import check_plot_path as check_plot_path
from .gain_search import plot_gain_search as plot_gain_search
from .identifications import plot_identification as plot_identification
from .linear_systems import (
    plot_bode as plot_bode,
    plot_nyquist as plot_nyquist,
    plot_step as plot_step,
)
from .monte_carlo import plot_monte_carlo as plot_monte_carlo
from .motor_tables import panels as panels, plot_motors as plot_motors
from .records import plot_record as plot_record
from .resonances import plot_resonances as plot_resonances
from .root_locus import plot_root_locus as plot_root_locus
from .rotor_models import plot_rotor_models as plot_rotor_models
from .simulations import plot_simulation as plot_simulation, simulation_panels as simulation_panels
from .sobol import plot_sobol as plot_sobol
from .study_summary import plot_study_summary as plot_study_summary
from .vibrations import plot_vibration as plot_vibration
from .worst_case import plot_worst_case as plot_worst_case

public(__name__)
