"""Forward kinematics of the Panda in multiprecision, by the DH table of its maker: nothing of the library."""

import mpmath as mp

# a, d in m and alpha in quarter turns, of the frame before each joint (modified DH); the last row is the flange
TABLE = [
    (0, "0.333", 0),
    (0, 0, -1),
    (0, "0.316", 1),
    ("0.0825", 0, 1),
    ("-0.0825", "0.384", -1),
    (0, 0, 1),
    ("0.088", 0, 1),
    (0, "0.107", 0),
]
QUARTER = {0: (1, 0), 1: (0, 1), -1: (0, -1)}  # cosine and sine


def flange(q):
    """The 4×4 pose of the flange at joint positions of any precision."""
    T = mp.eye(4)
    for (a, d, alpha), x in zip(TABLE, [*q, mp.mpf(0)]):
        ca, sa = QUARTER[alpha]
        c, s, a, d = mp.cos(x), mp.sin(x), mp.mpf(a), mp.mpf(d)
        T = T * mp.matrix([[c, -s, 0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca], [0, 0, 0, 1]])
    return T
