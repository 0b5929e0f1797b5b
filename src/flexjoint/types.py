"""Names of the array types that travel through flexjoint.

CasADi has no type stubs, so `Expression` is `Any` to a type checker; the names tell a reader what is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]  # numbers, (..., n)
ComplexArray: TypeAlias = NDArray[np.complex128]  # poles, frequency responses
Expression: TypeAlias = Any  # CasADi SX, a column (n, 1) or a matrix
Signal: TypeAlias = Any  # numbers (..., n), or an SX column (n, 1)
Scalar: TypeAlias = Any  # a number, or an SX of one element
Vector: TypeAlias = Any  # (3,) array or 3x1 SX
Matrix: TypeAlias = Any  # (3, 3) array or 3x3 SX
Jet: TypeAlias = list[Expression]  # [x, x', x'', ...], derivatives of the components in one frame
Stack: TypeAlias = Sequence[Expression]  # [x, x', x'', ...] as given by a caller
