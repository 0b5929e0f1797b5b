"""Observers, one file each: frozen parameters, (state, measurement) -> (state, estimate); and their noise."""

from .base import Measurement, Observer
from .detector import Detector
from .differentiator import DerivativeState, FilteredDerivative
from .kalman import KalmanDifferentiator, MotionEstimate
from .momentum import JointTorqueResidual, MomentumResidual
from .noise import output_covariance
from .residual import Residual, Status
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
    "Status",
    "TimedObserver",
    "output_covariance",
]
