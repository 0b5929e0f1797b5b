"""Observers, one file each: frozen parameters, (state, measurement) -> (state, estimate); and their noise."""

from .differentiator import DerivativeState, FilteredDerivative
from .kalman import KalmanDifferentiator, MotionEstimate
from .noise import output_covariance

__all__ = [
    "DerivativeState",
    "FilteredDerivative",
    "KalmanDifferentiator",
    "MotionEstimate",
    "output_covariance",
]
