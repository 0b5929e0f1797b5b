"""Damaged inputs for the fuzzer: data with odd values in odd places, written as TOML, and bytes changed at random."""

from __future__ import annotations

import copy
import math
from random import Random
from typing import Any

NUMBERS: list[Any] = [0, 1, -1, 2, 3, 7, 16, 100, 0.0, -0.0, 0.5, 1.0, 1e-3, 1e3, 90, 1e-9, 1e-12, 1e12, 1e20, 1e-200]
NUMBERS += [1e100, 1e200, 1.7e308, 5e-324, 1e-320, math.inf, -math.inf, math.nan, 2**31, 2**63, 10**400, -(10**400)]
NUMBERS += [16**4000, 10**4299]
TEXTS = ["", "x", "base", "rest", "periodic", "revolute", "prismatic", "fixed", "linear", "cubic", "tabulated"]
TEXTS += ["elastic", "rigid", "lever", "antagonistic", "frames", "complete", "spong", "link1", "joint1", "é"]
TEXTS += ["x" * 300, "[/]", "a.b", "\x1b[31m", "\x00", "%s%n", "../../etc/passwd", "a.csv", "NaN", "1e999", "\u202e"]
TEXTS += ["y" * 5000]
OTHERS: list[Any] = [True, False, [], [[]], {}, [{}], [1, 2], [1, 2, 3], [[1, 2], [3]], [[[1]]], ["a"], {"a": 1}]
OTHERS += [[1.0] * 600, [[0.0, 1.0]] * 50, {"kind": "linear", "stiffness": 10}]
TOKENS = ["[", "]", "{", "}", "=", "\n", ".", ",", '"', "'", "#", "[[link]]", "\\u0000", "0x", "1e", "_", "-", "+"]
TOKENS += ["inf", "nan", "1979-05-27", '"""', "'''", "\r", "\t", ";", "\x00", "\x7f", "\ufeff", "[a]\n", "a.b.c=1\n"]
TOKENS += ["1" * 400]


def value(random: Random) -> Any:
    """Any value, mostly a number."""
    kinds = random.random()
    if kinds < 0.5:
        return random.choice(NUMBERS)
    if kinds < 0.6:
        return random.choice((-1, 1)) * 10 ** random.uniform(-8, 8)
    return copy.deepcopy(random.choice(TEXTS if kinds < 0.8 else OTHERS))


def places(data: Any) -> list[tuple[Any, Any]]:
    """(container, key) of everything in nested lists and tables."""
    found = []
    for key in data.keys() if isinstance(data, dict) else range(len(data)):
        found.append((data, key))
        if isinstance(data[key], dict | list):
            found += places(data[key])
    return found


def changed(data: Any, random: Random, keys: list[str]) -> Any:
    """A copy with one to three changes; `keys` are those that might be known."""
    data = copy.deepcopy(data)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        found = places(data)
        if not found:
            break
        container, key = random.choice(found)
        what = random.random()
        if what < 0.6:
            container[key] = value(random)
        elif what < 0.7:
            del container[key]
        elif what < 0.8 and isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
        elif what < 0.9 and isinstance(container, dict):
            container[random.choice(keys)] = value(random)
        else:
            other, there = random.choice(found)
            container[key] = copy.deepcopy(other[there]) if other is not container[key] else value(random)
    return data


def toml(data: dict[str, Any]) -> str:
    """A table as TOML, its lists of tables inline."""
    return "".join(f"{text(str(key))} = {inline(x)}\n" for key, x in data.items())


def inline(x: Any) -> str:
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, int):
        return hex(x) if x >= 10**4300 else str(x)
    if isinstance(x, float):
        return repr(x)
    if isinstance(x, str):
        return text(x)
    if isinstance(x, list):
        return "[" + ", ".join(map(inline, x)) + "]"
    return "{" + ", ".join(f"{text(str(key))} = {inline(y)}" for key, y in x.items()) + "}"


def text(x: str) -> str:
    return '"' + "".join(c if c >= " " and c not in '"\\\x7f' else f"\\u{ord(c):04x}" for c in x) + '"'


def damaged(data: bytes, random: Random) -> bytes:
    """Bytes changed, cut, doubled, or tokens thrown in."""
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4, 8))):
        at = random.randrange(len(found) + 1)
        what = random.random()
        if what < 0.35 and at < len(found):
            flipped = found[at] ^ (1 << random.randrange(8))
            found[at] = random.choice((0, 255, 0x7F, 0x80, flipped, random.randrange(256)))
        elif what < 0.5:
            found[at:at] = random.choice(TOKENS).encode()
        elif what < 0.65:
            end = at + random.choice((1, 2, 4, 30))
            found[at:end] = b""
        elif what < 0.8:
            end = at + random.choice((1, 4, 8, 100))
            found[at:at] = found[at:end] * random.choice((1, 2, 20))
        elif what < 0.85:
            del found[at:]
        elif what < 0.95 and at + 4 <= len(found):
            number = random.choice((0, 1, 2**16, 2**31 - 1, 2**32 - 1))
            found[at : at + 4] = number.to_bytes(4, "little")
        else:
            other = random.randrange(len(found) + 1)
            found[at:at] = found[other : other + 200]
    return bytes(found)
