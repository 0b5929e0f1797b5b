"""Motions of the joints: a trajectory maps time to q and its derivatives, stacked (order + 1, ..., n).

`base.py` holds `Trajectory`, what every trajectory is; one file per kind.
"""

from ..boundary import public
from .base import Trajectory as Trajectory, require_smoothness as require_smoothness
from .cartesian import (
    Arc as Arc,
    BlendedPath as BlendedPath,
    CartesianMotion as CartesianMotion,
    CartesianPath as CartesianPath,
    Line as Line,
    PathError as PathError,
    PoseSpline as PoseSpline,
)
from .fastest import (
    ActivePhase as ActivePhase,
    Certificate as Certificate,
    FastestMotion as FastestMotion,
    time_optimal as time_optimal,
)
from .feasibility import Feasibility as Feasibility, check_feasibility as check_feasibility
from .files import (
    load_base as load_base,
    load_record as load_record,
    load_stiffness as load_stiffness,
    load_trajectory as load_trajectory,
)
from .filter_trial import FilterError as FilterError
from .filtered_step import FilteredStep as FilteredStep
from .fitted_duration import ActiveLimit as ActiveLimit, FittedDuration as FittedDuration, fit_duration as fit_duration
from .joined import Joined as Joined
from .kinds import KINDS as KINDS
from .limits import Violation as Violation
from .motion_and_stiffness import MotionAndStiffness as MotionAndStiffness
from .motion_and_surroundings import MotionAndSurroundings as MotionAndSurroundings
from .noise_level import NoiseLevel as NoiseLevel, RecordOutlier as RecordOutlier, noise_level as noise_level
from .record import RecordAssessment as RecordAssessment, assess_record as assess_record
from .rest_to_rest import RestToRest as RestToRest
from .retimed import Retimed as Retimed
from .samples import Samples as Samples
from .saving import save_trajectory as save_trajectory
from .scaled import Scaled as Scaled
from .shaped import Shaped as Shaped, shape_motion as shape_motion
from .shapers import ImpulseShaper as ImpulseShaper, impulse_shaper as impulse_shaper
from .sinusoid import Sinusoid as Sinusoid
from .smooth_trapezoid import SmoothTrapezoid as SmoothTrapezoid
from .spline import Spline as Spline
from .time_law import TimeLaw as TimeLaw

public(__name__)
