"""Calls of the public functions, classes and methods with arguments of the wrong kind.

    python tests/fuzz/calls.py --count 200000          # exit code 1 if 0.1 % or more end in a raw exception
    python tests/fuzz/calls.py --index 17              # one call again, with its traceback

A call takes arguments of the right kind where one exists, and one or two of a wrong kind.  It must return or raise a
FlexjointError within 5 s; Python's own complaint about missing arguments counts as such.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import functools
import inspect
import io
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

import casadi as ca
import matplotlib
import numpy as np

import flexjoint as fj
from flexjoint.boundary import evaluated, matches
from support.public import PUBLIC

matplotlib.use("Agg")
SECONDS = 5
# Servers, pages and processes that do not return, and the wrapper itself.
EXCLUDED = ("serve", "Viewer", "view", "local_cluster", "cluster", "Study", "wait", "close", "open")
JUNK: list[Any] = [
    None,
    True,
    3,
    -1,
    2.5,
    float("nan"),
    "x",
    "",
    b"x",
    [],
    {},
    (),
    [1, "a"],
    {"a": 1},
    {1: None},
    object(),
]
JUNK += [
    int,
    len,
    np.zeros(0),
    np.array("x"),
    np.array([None, 1.0]),
    np.zeros((2, 2, 2)),
    1 + 2j,
    ca.SX.sym("x"),
    ca.DM(1),
]
JUNK += [
    Path("missing"),
    io.StringIO("x"),
    range(3),
    iter(()),
    fj,
    10**400,
    np.float64(1.0),
    np.int64(2),
    {"q": []},
    ["x"],
]


@functools.cache
def pool() -> list[Any]:
    """Right values: a robot and what is made of it."""
    robot = fj.load("hua_3r")
    one = fj.from_dh("one", alpha=[0.0], a=[1.0], d=[0.0], mass=[1.0], com=[[0.5, 0, 0]], inertia=[np.eye(3)])
    motion = fj.trajectory.RestToRest(np.zeros(3), np.full(3, 0.3), 0.02)
    controller = fj.control.MotorPD(robot, [500.0, 50.0])
    run = fj.simulate(robot, controller, motion, 0.02)
    values = [
        robot,
        one,
        motion,
        controller,
        run,
        run.q,
        np.zeros(3),
        np.linspace(0, 1, 5),
        np.zeros((5, 3)),
        0.01,
        1,
        2,
    ]
    values += [
        True,
        "hua_3r",
        "joint1",
        "q",
        Path("robot.toml"),
        ["joint1"],
        {"joint1": 0.1},
        lambda *x: x[0],
        robot.joints[0],
    ]
    values += [
        robot.links[0],
        *robot.joints[0:1],
        robot.joints[0].drive,
        fj.Limits(),
        fj.inverse_dynamics,
        fj.mass_matrix,
    ]
    values += [
        fj.observers.JointTorqueResidual(robot, 10.0, 50.0),
        fj.kinematics.Pose([0, 0, 1.0]),
        motion(np.linspace(0, 0.02, 5)),
    ]
    values += [fj.springs.LinearSpring(100.0), fj.springs.LinearSpring(10.0), (0.0, 1.0), [1.0, 2.0], [500.0, 50.0]]
    return values


def targets() -> dict[str, Callable[..., Any]]:
    """Public functions, classes, and methods of the values of the pool."""
    found: dict[str, Callable[..., Any]] = {}
    for name, value in PUBLIC.items():
        if callable(value) and not set(name.split(".")) & set(EXCLUDED) and not name.endswith(("Error", "Warning")):
            found[name] = value
    for value in pool():
        if type(value).__module__.startswith("flexjoint"):
            for name in dir(type(value)):
                if inspect.isfunction(getattr(type(value), name)) and not name.startswith("_") and name not in EXCLUDED:
                    found[f"{type(value).__name__}().{name}"] = getattr(value, name)
    return found


@functools.cache
def parameters(name: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(TARGETS[name]).parameters.values())
    except ValueError:
        return []


@functools.cache
def right_values(name: str, k: int) -> list[Any]:
    function, parameter = TARGETS[name], parameters(name)[k]
    home = inspect.unwrap(function.__init__ if isinstance(function, type) else function)
    annotation = evaluated(parameter.annotation, getattr(home, "__globals__", {}))
    if parameter.name in ("robot", "self"):
        return [x for x in pool() if isinstance(x, fj.Robot)]
    return [x for x in pool() if matches(x, annotation)] if annotation is not Any else pool()


def made(index: int, seed: int) -> tuple[str, list[Any], dict[str, Any]]:
    random = Random(f"{seed} {index}")
    name = random.choice(NAMES)
    args: list[Any] = []
    keywords: dict[str, Any] = {}
    values = parameters(name)
    for k, parameter in enumerate(values):
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        required = parameter.default is parameter.empty
        if not required and random.random() < 0.7:
            continue
        candidates = right_values(name, k) or [None]
        keywords[parameter.name] = random.choice(candidates)
    for _ in range(random.choice((1, 1, 2))):
        if keywords:
            keywords[random.choice(list(keywords))] = random.choice(JUNK)
    for parameter in values:
        if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in keywords:
            args.append(keywords.pop(parameter.name))
    return name, args, keywords


class Hang(BaseException):
    """A call took too long."""


def stop(*_: object) -> None:
    raise Hang(f"more than {SECONDS} s")


@contextlib.contextmanager
def limited() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def judged(name: str, args: list[Any], keywords: dict[str, Any]) -> BaseException | None:
    """The exception of a call, if it is neither ours nor Python's complaint about the signature."""
    try:
        with limited(), contextlib.redirect_stdout(io.StringIO()):
            TARGETS[name](*args, **keywords)
    except (fj.FlexjointError, fj.FlexjointWarning, OSError):
        return None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        own = [x for x in traceback.extract_tb(error.__traceback__) if "/flexjoint/" in x.filename]
        own = [x for x in own if not x.filename.endswith("boundary.py")]  # Python's complaint about the signature
        return error if own else None
    return None


def place(error: BaseException) -> str:
    frames = [x for x in traceback.extract_tb(error.__traceback__) if "/flexjoint/" in x.filename]
    inner = [x for x in frames if not x.filename.endswith("boundary.py")]
    where = f"{'/'.join(Path(inner[-1].filename).parts[-2:])}:{inner[-1].lineno}" if inner else "?"
    return f"{type(error).__name__} at {where}"


TARGETS = targets()
NAMES = sorted(TARGETS)


def fuzz(count: int, seed: int, first: int = 0) -> Counter[str]:
    """Raw exceptions by their place in the source."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, stop)
    places: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for index in range(first, first + count):
            faulthandler.dump_traceback_later(20 * SECONDS, exit=True)  # a call that C code keeps from its time limit
            error = judged(*made(index, seed))
            if error is not None:
                if not places[place(error)]:
                    print(f"{place(error)}: {error!s:.100} ({made(index, seed)[0]}, --index {index})", file=sys.stderr)
                places[place(error)] += 1
    faulthandler.cancel_dump_traceback_later()
    return places


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--index", type=int)
    options = parser.parse_args()
    if options.index is not None:
        name, args, keywords = made(options.index, options.seed)
        print(name, args, keywords)
        TARGETS[name](*args, **keywords)
        return 0
    places = fuzz(options.count, options.seed, options.first)
    total = sum(places.values())
    for where, number in places.most_common():
        print(f"{number:5}  {where}")
    print(f"{options.count} calls of {len(NAMES)} functions: {total} raw exceptions at {len(places)} places")
    return int(total >= options.count / 1000)


if __name__ == "__main__":
    sys.exit(main())
