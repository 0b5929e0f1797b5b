"""Random numbers inside a kernel: Philox4x32-10, which needs no state but a counter  [Salmon].

The same counter and key give the same words on every machine, whatever else is in a batch.  A kernel has doubles alone;
words of 32 bits are whole numbers among them, and every operation below is exact: products in halves of 16 bits stay
under 2⁴⁹.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

from ..compiler.ir.scan import operation, scan, traced
from ..spatial import ca, sx
from ..types import Expression, Scalar

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
STEPS = (0x9E3779B9, 0xBB67AE85)  # of the key from round to round
BITS, HALF = 32, 2.0**16
WORD = 2.0**BITS
WORDS = 4  # of a call


class Stream(NamedTuple):
    """Where a run takes its random numbers from: `seed` and `row`, whole numbers below 2⁵³ and 2³²."""

    seed: Scalar
    row: Scalar


def normals(stream: Stream, step: Scalar, channels: Sequence[int]) -> dict[int, Scalar]:
    """Independent numbers of mean 0 and deviation 1, by channel; step and channels below 2³².

    Four channels take one call, with the counter (row, step, ⌊channel/4⌋, 0) and the seed as its key.
    """
    groups = sorted({channel // WORDS for channel in channels})
    same, zero = ca.SX.ones(len(groups)), ca.SX.zeros(len(groups))
    found = gaussian(philox([stream.row * same, step * same, sx(groups), zero], low_and_high(stream.seed)))
    return {channel: found[channel % WORDS][groups.index(channel // WORDS)] for channel in channels}


def philox(counter: Sequence[Expression], key: Sequence[Scalar]) -> Sequence[Expression]:
    """Four random words from four words of counter and two of key  [Salmon sec. 3.3]; columns make as many calls."""

    def turn(carry: Any, _: Any) -> tuple[Any, Any]:
        (c_0, c_1, c_2, c_3), (k_0, k_1) = carry
        high_0, low_0 = product(MULTIPLIERS[0], c_0)
        high_1, low_1 = product(MULTIPLIERS[1], c_2)
        words = [exclusive_or(high_1, c_1, k_0), low_1, exclusive_or(high_0, c_3, k_1), low_0]
        return (words, [modulo(k + step, WORD) for k, step in zip((k_0, k_1), STEPS)]), ()

    (words, _), _ = scan(turn, (list(counter), list(key)), [()] * ROUNDS)
    return words


def gaussian(words: Sequence[Expression]) -> list[Expression]:
    """As many normal numbers as words, two from two  [BoxMuller]."""
    found = []
    for x, y in (words[:2], words[2:]):
        radius, angle = ca.sqrt(-2 * ca.log((x + 0.5) / WORD)), y * (2 * math.pi / WORD)
        found += [radius * ca.cos(angle), radius * ca.sin(angle)]
    return found


def product(constant: int, x: Expression) -> tuple[Expression, Expression]:
    """The high and the low word of a product of words: (2¹⁶ a + b) c."""
    a = ca.floor(x / HALF)
    upper, lower = constant * a, constant * (x - HALF * a)
    carried = ca.floor(upper / HALF)
    rest = HALF * (upper - HALF * carried) + lower
    above = ca.floor(rest / WORD)
    return carried + above, rest - WORD * above


def exclusive_or(*words: Expression) -> Expression:
    """An operation of kernels; in plain SX the parity of ⌊x/2ʲ⌋ + ⌊y/2ʲ⌋ + ... at each place j."""
    if traced():
        rows = zip(*((word + 0 * words[0]).elements() for word in words))
        return ca.vertcat(*[reduce(partial(operation, "xor"), row) for row in rows])
    found = 0 * words[0]
    for j in range(BITS):
        digits = sum(ca.floor(word * 2.0**-j) for word in words)
        found = found + 2.0**j * modulo(digits, 2.0)
    return found


def modulo(x: Scalar, n: float) -> Scalar:
    """The remainder of x/n."""
    return x - n * ca.floor(x / n)


def low_and_high(seed: Scalar) -> list[Scalar]:
    """The two words of a seed."""
    high = ca.floor(seed / WORD)
    return [seed - WORD * high, high]
