"""Spring laws evaluated as numbers."""

import casadi as ca
import numpy as np


def inverse(spring, tau):
    """Deflections of torques of any shape, by the closed inverse of a law."""
    x = ca.SX.sym("tau")
    f = ca.Function("f", [x], [spring.deflection(x)])
    return np.array(f(np.reshape(tau, (1, -1)))).reshape(np.shape(tau))
