"""Spring laws: the torque of a deflection and its inverse; one file per law.

`base.py` holds `Spring`, what every law is; `parallel.py` a spring beside the drive of a joint.
"""

from ..boundary import public
from .base import SPRINGS as SPRINGS, TRIAL_DEFLECTIONS as TRIAL_DEFLECTIONS, Curve as Curve, Spring as Spring
from .cubic import CubicSpring as CubicSpring
from .exponential import ExponentialSpring as ExponentialSpring
from .four_bar import FourBarSpring as FourBarSpring
from .hardening import HardeningSpring as HardeningSpring
from .linear import LinearSpring as LinearSpring
from .parallel import ParallelSpring as ParallelSpring
from .piecewise import PiecewiseSpring as PiecewiseSpring
from .quadratic import QuadraticSpring as QuadraticSpring
from .sinh import SinhSpring as SinhSpring
from .tabulated import TabulatedSpring as TabulatedSpring

public(__name__)
