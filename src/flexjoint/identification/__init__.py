"""Identification of drivetrains and links from logs: stiffness, damping, motor inertia, friction, with deviations."""

from ..boundary import public
from .control_loop import ControlLoop as ControlLoop
from .estimates import Estimate as Estimate
from .excitation import ExcitingMotion as ExcitingMotion, exciting_motion as exciting_motion
from .frequency_response import Resonance as Resonance, find_resonances as find_resonances
from .gear_losses import GearLoss as GearLoss
from .identify import identify as identify
from .residuals import ResidualTest as ResidualTest, Score as Score
from .result import Identification as Identification
from .transmission_result import VariableStiffnessIdentification as VariableStiffnessIdentification
from .variable_stiffness import identify_variable_stiffness as identify_variable_stiffness

public(__name__)
