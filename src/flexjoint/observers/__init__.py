"""Observers, one file each: frozen parameters, (state, measurement) -> (state, estimate); and their noise."""

from .base import Measurement, Observer
from .detector import Detector
from .differentiator import DerivativeState, FilteredDerivative
from .kalman import KalmanDifferentiator, MotionEstimate
from .momentum import JointTorqueResidual, MomentumResidual
from .noise import output_covariance
from .residual import Residual, Status
from .thresholds import Spread, false_alarm_thresholds, spread_of_log, spread_of_noise
from .timed import TimedObserver

__all__ = [
    "DerivativeState",
    "Detector",
    "FilteredDerivative",
    "JointTorqueResidual",
    "KalmanDifferentiator",
    "Measurement",
    "MomentumResidual",
    "MotionEstimate",
    "Observer",
    "Residual",
    "Spread",
    "Status",
    "TimedObserver",
    "false_alarm_thresholds",
    "output_covariance",
    "spread_of_log",
    "spread_of_noise",
]
