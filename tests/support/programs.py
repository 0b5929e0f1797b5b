"""A fixed handful of robots and algorithms that tests compile, with inputs that stretch their arithmetic."""

import ctypes
import math
from functools import cache

import numpy as np

import flexjoint as fj
from flexjoint.compiler.ir.elementary import SIN_RANGE

ROBOTS = {
    "lwr": fj.load("kuka_lwr"),
    "hua": fj.load("hua_3r"),
    "chain": fj.random_robot(4, 5, prismatic=0.5, elastic=0.5, friction=True, fixed=0.3, name="chain"),
    "tree": fj.random_robot(6, 6, prismatic=0.3, tree=True, name="tree"),
    "hinge": fj.random_robot(1, 9, prismatic=0.0, name="hinge"),
}
ALGORITHMS = {
    "inverse_dynamics": (fj.inverse_dynamics, {}),
    "torque_derivatives": (fj.torque_derivatives, {"order": 1}),
    "forward_dynamics": (fj.forward_dynamics, {}),
    "mass_matrix": (fj.mass_matrix, {}),
    "forward_kinematics": (fj.forward_kinematics, {}),
    "generalized_momentum": (fj.generalized_momentum, {}),
}
SPECIAL_SINGLE = [0.0, -0.0, 1e-45, -2e-39, 1.1754944e-38, 1e-20, 1.0, -math.pi / 2, 1e4, -1e15, 3e38]
SPECIAL = [0.0, -0.0, 5e-324, -2e-310, 2.2250738585072014e-308, 1e-200, 1.0, -math.pi / 2, 1e8, -1e150, 1e308]


@cache
def kernel_of(algorithm, robot):
    function, options = ALGORITHMS[algorithm]
    rigid = function is fj.forward_dynamics  # elastic joints have more state than it takes
    return fj.compile(function, ROBOTS[robot].rigid() if rigid else ROBOTS[robot], **options)


def inputs_of(program, count=40, special=SPECIAL):
    """Ordinary numbers, then ever more zeros, denormals, huge numbers and angles out of range; then special values
    throughout, and infinities and NaN in one element alone."""
    rng = np.random.default_rng(0)
    sets = []
    for k in range(count):
        arrays = []
        for array in program.inputs:
            x = rng.normal(size=array.shape) * 10.0 ** rng.integers(-3, 4)
            strange = rng.random(array.shape) < k / (2 * count)
            x[strange] = rng.choice([*special, 2 * SIN_RANGE], size=array.shape)[strange]
            arrays.append(x)
        sets.append(arrays)
    sets += [[np.full(a.shape, x) for a in program.inputs] for x in (*special, math.inf, math.nan)]
    for k, array in enumerate(program.inputs):
        for x in (math.inf, -math.inf, math.nan):
            one = [rng.normal(size=a.shape) for a in program.inputs]
            one[k].flat[rng.integers(array.size)] = x
            sets.append(one)
    return sets


def same_bits(x, y):
    """Equal bit for bit, zeros with their sign; NaN anywhere is one value."""
    x, y = np.ravel(x), np.ravel(y)
    bits = np.int32 if x.dtype == np.float32 else np.int64
    nan = np.isnan(x)
    return np.array_equal(nan, np.isnan(y)) and np.array_equal(x[~nan].view(bits), y[~nan].view(bits))


def raw(address, program, arrays):
    """What the machine code writes, non-finite results included, and its status."""
    results = [np.full(array.shape, 7.0) for array in program.outputs]
    pointers = [(ctypes.c_void_p * max(len(x), 1))(*(y.ctypes.data for y in x)) for x in (arrays, results)]
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)
    status = function(*pointers)
    return results, status
