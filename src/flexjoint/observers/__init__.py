"""Observers, one file per method: (state, measurement, torque) -> (state, outputs).

To add an observer: one file with a subclass of `Observer`, `TimedObserver` or `Residual`, and one line here.
"""

from ..boundary import public
from .base import Measurement as Measurement, Observer as Observer
from .contact import ExternalWrench as ExternalWrench, external_wrench as external_wrench, struck_links as struck_links
from .detector import Detector as Detector
from .differentiator import DerivativeState as DerivativeState, FilteredDerivative as FilteredDerivative
from .energy import EnergyResidual as EnergyResidual
from .extended_state import ExtendedStateObserver as ExtendedStateObserver
from .faults import Fault as Fault, FaultIdentifier as FaultIdentifier
from .friction import FrictionObserver as FrictionObserver
from .kalman import KalmanDifferentiator as KalmanDifferentiator, MotionEstimate as MotionEstimate
from .link_residual import LinkResidual as LinkResidual
from .momentum import JointTorqueResidual as JointTorqueResidual, MomentumResidual as MomentumResidual
from .motor_encoder import MotorEncoderResidual as MotorEncoderResidual
from .noise import output_covariance as output_covariance
from .residual import Residual as Residual, Status as Status, TransferFunction as TransferFunction
from .spring_torque import SpringTorqueObserver as SpringTorqueObserver
from .thresholds import (
    Spread as Spread,
    false_alarm_thresholds as false_alarm_thresholds,
    spread_of_log as spread_of_log,
    spread_of_noise as spread_of_noise,
)
from .timed import TimedObserver as TimedObserver
from .velocities import VelocityEstimator as VelocityEstimator

public(__name__)
