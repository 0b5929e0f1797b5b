"""Observers, one file each: frozen parameters, (state, measurement) -> (state, estimate); and their noise."""

from .base import Measurement, Observer
from .contact import ExternalWrench, external_wrench, struck_links
from .detector import Detector
from .differentiator import DerivativeState, FilteredDerivative
from .energy import EnergyResidual
from .faults import Fault, FaultIdentifier
from .friction import FrictionObserver
from .kalman import KalmanDifferentiator, MotionEstimate
from .momentum import JointTorqueResidual, MomentumResidual
from .motor_encoder import LinkResidual, MotorEncoderResidual, SpringTorqueObserver
from .noise import output_covariance
from .residual import Residual, Status, TransferFunction
from .thresholds import Spread, false_alarm_thresholds, spread_of_log, spread_of_noise
from .timed import TimedObserver
from .velocities import VelocityEstimator

__all__ = [
    "DerivativeState",
    "Detector",
    "EnergyResidual",
    "ExternalWrench",
    "Fault",
    "FaultIdentifier",
    "FilteredDerivative",
    "FrictionObserver",
    "JointTorqueResidual",
    "KalmanDifferentiator",
    "LinkResidual",
    "Measurement",
    "MomentumResidual",
    "MotionEstimate",
    "MotorEncoderResidual",
    "Observer",
    "Residual",
    "Spread",
    "SpringTorqueObserver",
    "Status",
    "TimedObserver",
    "TransferFunction",
    "VelocityEstimator",
    "external_wrench",
    "false_alarm_thresholds",
    "output_covariance",
    "spread_of_log",
    "spread_of_noise",
    "struck_links",
]
