"""Spring laws: `base.py` says what a law is, `laws.py` has closed ones, `tabulated.py` one through measured points."""

from .base import SAMPLES, Curve, Spring
from .laws import CubicSpring, ExponentialSpring, HardeningSpring, LinearSpring, PiecewiseSpring, QuadraticSpring
from .tabulated import TabulatedSpring

__all__ = [
    "SAMPLES",
    "SPRINGS",
    "CubicSpring",
    "Curve",
    "ExponentialSpring",
    "HardeningSpring",
    "LinearSpring",
    "PiecewiseSpring",
    "QuadraticSpring",
    "Spring",
    "TabulatedSpring",
]

SPRINGS: dict[str, type[Spring]] = {
    "linear": LinearSpring,
    "cubic": CubicSpring,
    "hardening": HardeningSpring,
    "piecewise": PiecewiseSpring,
    "quadratic": QuadraticSpring,
    "exponential": ExponentialSpring,
    "tabulated": TabulatedSpring,
}
