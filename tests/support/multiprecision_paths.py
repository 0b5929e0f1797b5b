"""Rotations and central differences in multiprecision: nothing of the library."""

import mpmath as mp
import numpy as np

STEP = mp.mpf("1e-9")
CENTRAL = {  # weights at -3 ... 3 steps, of errors of fourth or sixth order
    1: ([-1, 9, -45, 0, 45, -9, 1], 60),
    2: ([2, -27, 270, -490, 270, -27, 2], 180),
    3: ([1, -8, 13, 0, -13, 8, -1], 8),
    4: ([-1, 12, -39, 56, -39, 12, -1], 6),
}


def numbers(array):
    """A matrix of the exact values of doubles."""
    return mp.matrix(np.asarray(array, dtype=float).tolist())


def exponential(vector, angle):
    """exp(angle · S(unit vector)), Rodrigues' formula."""
    x, y, z = numbers(vector) / mp.norm(numbers(vector))
    S = mp.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return mp.eye(3) + mp.sin(angle) * S + (1 - mp.cos(angle)) * S * S


def geodesic(start, goal, share):
    """The rotation a share of the shortest way from one rotation to another."""
    E = numbers(start).T * numbers(goal)
    vector = [E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]]
    angle = mp.atan2(mp.norm(mp.matrix(vector)) / 2, (E[0, 0] + E[1, 1] + E[2, 2] - 1) / 2)
    return numbers(start) * exponential([float(x) for x in vector], share * angle)


def pose(R, p):
    """[R p], 3×4."""
    return mp.matrix([[*[R[i, j] for j in range(3)], p[i]] for i in range(3)])


def differences(function, x):
    """Derivatives 0 to 4 of a function of one number with matrices as values, as arrays."""
    values = [function(mp.mpf(x) + k * STEP) for k in range(-3, 4)]
    found = [values[3]]
    for k, (weights, scale) in CENTRAL.items():
        total = values[0] * 0
        for w, value in zip(weights, values):
            total = total + w * value
        found.append(total / (scale * STEP**k))
    return [np.array(y.tolist(), dtype=float) for y in found]
