"""Settings of a study as text: all that its samples depend on.  A folder of samples must have the same settings.

Controllers, contacts and observers written in CasADi are identified by the expressions they are compiled from, with
all numbers.  Controllers written in Python are identified by their code and data; see `identity.py`.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
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
from .study_plan import StudyPlan
from .sweep_axes import PARTS
from .sweep_plan import SweepPlan

WITHOUT_EFFECT = ("period", "check", "threads", "free", "gains", "row", "seed")  # or settings of their own
CHUNK = 4096  # periods of the reference sampled at once
DRAWN = 8  # samples whose parameters are compared


def study_settings(plan: StudyPlan) -> dict[str, Any]:
    """Settings of a study as JSON can hold them."""
    from importlib.metadata import version  # 16 ms of every import of flexjoint if it stood above

    controller, loop = plan.controller, plan.loop
    stages = (0.0,) if plan.options.get("hold", True) else (0.0, 0.5, 1.0)
    found = {
        "robot": plan.robot.digest,
        "controller": description(controller, "controller"),
        "reference": reference_digest(loop.tracked, loop.period, loop.steps, stages),
        "periods": loop.steps,
        "period": loop.period,
        "vary": [f"{path}={text}" for path, text in plan.vary.items()],
        "draws": digest_of(plan.values(0, DRAWN), "vary"),
        "seed": plan.seed,
        "flexjoint": f"{version('flexjoint')} {sources()[:16]}",
        "casadi": version("casadi"),
        "options": {name: option(plan.robot, name, x) for name, x in all_options(plan.options).items()},
    }
    if isinstance(controller, Controller):
        found["gains"] = digest_of(controller.gains, "gains")
        start = controller.start([*loop.tracked(np.zeros(()))])
        found["memory"] = digest_of([np.asarray(x) for x in start], "memory")
    return found


def sweep_settings(plan: SweepPlan) -> dict[str, Any]:
    """Settings of a sweep as JSON can hold them."""
    from importlib.metadata import version

    axes = {
        axis: [[name, part(plan.robot, axis, x)] for name, x in zip(plan.labels[axis], values)]
        for axis, values in plan.values.items()
    }
    return {
        **{name: part(plan.robot, name, getattr(plan, name)) for name in PARTS if name not in axes},
        "over": axes,
        "points": plan.count,
        "flexjoint": f"{version('flexjoint')} {sources()[:16]}",
        "casadi": version("casadi"),
        "options": {
            name: option(plan.robot, name, x) for name, x in all_options(plan.options).items() if name not in axes
        },
    }


def part(robot: Robot, name: str, value: Any) -> Any:
    """Description of an argument of `simulate`, of gains, or of a parameter."""
    return described(value, name) if name in ("robot", "reference") else option(robot, name, value)


def all_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of `simulate` with their values, the defaults too."""
    known = inspect.signature(simulate).parameters.values()
    defaults = {x.name: x.default for x in known if x.kind is x.KEYWORD_ONLY}
    return {name: x for name, x in (defaults | dict(given)).items() if name not in WITHOUT_EFFECT}


def option(robot: Robot, name: str, value: Any) -> Any:
    """Description of an option of `simulate`."""
    if name == "contact" and callable(value):
        known = DigestedContact(robot, value)
        return {"name": known.__qualname__, "law": known.digest}
    if name == "observers" and isinstance(value, Mapping):
        return {key: description(x, f"observers[{key!r}]") for key, x in value.items()}
    return description(value, name)


def description(item: Any, name: str) -> Any:
    """Description of a controller or observer: by its fields if flexjoint has it, else by its expressions or code."""
    code = code_of(item) if isinstance(item, Controller | Observer) else None
    if isinstance(code, LawDigest):
        return {"name": type(item).__qualname__, "law": code.digest}
    return described(item, name)


def reference_digest(wanted: Reference, period: float, steps: int, stages: tuple[float, ...]) -> str:
    """Digest of all numbers that a run takes from its reference."""
    found, end = hashlib.sha256(), period * steps
    for first in range(0, steps + 1, CHUNK):
        t = period * np.arange(first, min(first + CHUNK, steps + 1))
        table = wanted(np.minimum(t[:, None] + period * np.array(stages), end))
        found.update(np.ascontiguousarray(table).tobytes())
    return found.hexdigest()[:32]
