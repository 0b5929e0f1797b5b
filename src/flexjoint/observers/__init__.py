"""Observers, one file each: frozen parameters, (state, measurement) -> (state, estimate); and their noise."""

from .base import Measurement, Observer
from .differentiator import DerivativeState, FilteredDerivative
from .kalman import KalmanDifferentiator, MotionEstimate
from .noise import output_covariance
from .velocities import VelocityEstimator

__all__ = [
    "DerivativeState",
    "FilteredDerivative",
    "KalmanDifferentiator",
    "Measurement",
    "MotionEstimate",
    "Observer",
    "VelocityEstimator",
    "output_covariance",
]
