"""Observers, one file each: frozen parameters, (state, measurement) -> (state, estimate); and their noise."""

from .base import Measurement, Observer
from .differentiator import DerivativeState, FilteredDerivative
from .kalman import KalmanDifferentiator, MotionEstimate
from .noise import output_covariance

__all__ = [
    "DerivativeState",
    "FilteredDerivative",
    "KalmanDifferentiator",
    "Measurement",
    "MotionEstimate",
    "Observer",
    "output_covariance",
]
