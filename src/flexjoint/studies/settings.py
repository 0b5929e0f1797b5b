"""All that decides the samples of a study, as text: what a folder of samples is compared with before it is used.

Laws in SX, contacts and observers among them, are known by the expressions they are compiled from, with every number
in them.  Laws in Python are known by their code and data; see `identity.py`.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from ..compiler.runtime.cache import sources
from ..control.base import Controller
from ..observers.base import Observer
from ..robot import Robot
from ..simulation.law_digests import DigestedContact, LawDigest, code_of
from ..simulation.reference import Reference
from ..simulation.simulate import simulate
from .identity import described, digest_of
from .variation import Variations

WITHOUT_EFFECT = ("period", "check", "threads", "free", "gains", "row", "seed")  # or named by themselves
CHUNK = 4096  # periods whose reference is sampled at once
DRAWN = 8  # samples whose parameters are compared


def settings_of(
    variations: Variations,
    robot: Robot,
    controller: Any,
    wanted: Reference,
    period: float,
    steps: int,
    vary: Mapping[str, Any],
    seed: int,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Settings as JSON can hold them."""
    stages = (0.0,) if options.get("hold", True) else (0.0, 0.5, 1.0)
    found = {
        "robot": robot.digest,
        "controller": law_of(controller, "controller"),
        "reference": reference_digest(wanted, period, steps, stages),
        "periods": steps,
        "period": period,
        "vary": [f"{path}={text}" for path, text in vary.items()],
        "draws": digest_of(variations.draw(seed, 0, DRAWN), "vary"),
        "seed": seed,
        "flexjoint": f"{version('flexjoint')} {sources()[:16]}",
        "casadi": version("casadi"),
        "options": {name: option(robot, name, x) for name, x in all_options(options).items()},
    }
    if isinstance(controller, Controller):
        found["gains"] = digest_of(controller.gains, "gains")
        found["memory"] = digest_of([np.asarray(x) for x in controller.start([*wanted(np.zeros(()))])], "memory")
    return found


def all_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `simulate`, those that are not given too."""
    known = inspect.signature(simulate).parameters.values()
    defaults = {x.name: x.default for x in known if x.kind is x.KEYWORD_ONLY}
    return {name: x for name, x in (defaults | dict(given)).items() if name not in WITHOUT_EFFECT}


def option(robot: Robot, name: str, value: Any) -> Any:
    if name == "contact" and callable(value):
        known = DigestedContact(robot, value)
        return {"name": known.__qualname__, "law": known.digest}
    if name == "observers" and isinstance(value, Mapping):
        return {key: law_of(x, f"observers[{key!r}]") for key, x in value.items()}
    return law_of(value, name)


def law_of(item: Any, name: str) -> Any:
    """A controller or an observer of flexjoint's by its fields, one of the user's by its expressions."""
    code = code_of(item) if isinstance(item, Controller | Observer) else None
    if isinstance(code, LawDigest):
        return {"name": type(item).__qualname__, "law": code.digest}
    return described(item, name)


def reference_digest(wanted: Reference, period: float, steps: int, stages: tuple[float, ...]) -> str:
    """Of all numbers that a run takes from its reference."""
    found, end = hashlib.sha256(), period * steps
    for first in range(0, steps + 1, CHUNK):
        t = period * np.arange(first, min(first + CHUNK, steps + 1))
        table = wanted(np.minimum(t[:, None] + period * np.array(stages), end))
        found.update(np.ascontiguousarray(table).tobytes())
    return found.hexdigest()[:32]
