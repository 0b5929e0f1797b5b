"""Numbers that have the same bits on every processor.

BLAS, LAPACK, NumPy's exp and tanh and the C library's sin choose other code on other processors, and with it other last
bits.  Wherever a number becomes part of a robot, a constant of a kernel or a sample of a trajectory, it is computed
here: by additions, multiplications, divisions and square roots in a fixed order, which IEEE 754 rounds alike
everywhere.
"""

from .banded import banded_solve
from .expressions import evaluate, unsupported
from .functions import atan2, cos, exp, log, power, sin, sin_cos
from .linear import column_basis, nonnegative_least_squares, product, solve, solve_each, stationary_covariance
from .statistics import gauss_legendre, normal_quantile

__all__ = [
    "atan2",
    "banded_solve",
    "column_basis",
    "cos",
    "evaluate",
    "exp",
    "gauss_legendre",
    "log",
    "nonnegative_least_squares",
    "normal_quantile",
    "power",
    "product",
    "sin",
    "sin_cos",
    "solve",
    "solve_each",
    "stationary_covariance",
    "unsupported",
]
