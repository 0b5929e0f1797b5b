"""Philox4x32-10 as its authors wrote it, on NumPy's integers."""

import numpy as np


def by_integers(counter, key):
    """Random words (..., 4) from counters (..., 4) and a key of two words."""
    c, k, mask = [counter[..., i].astype(np.uint64) for i in range(4)], list(key), np.uint64(0xFFFFFFFF)
    for _ in range(10):
        p, q = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(q >> np.uint64(32)) ^ c[1] ^ k[0], q & mask, (p >> np.uint64(32)) ^ c[3] ^ k[1], p & mask]
        k = [(k[0] + np.uint64(0x9E3779B9)) & mask, (k[1] + np.uint64(0xBB67AE85)) & mask]
    return np.stack(c, -1)
