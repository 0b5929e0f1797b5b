"""Shell completion: robots, controllers, algorithms, and files of robots, drives, trajectories and logs."""

from __future__ import annotations

from pathlib import Path

DRIVE_FILES = ".drives.toml"
TRAJECTORIES = (".toml", ".csv", ".npz")
LOGS = (".csv", ".npz", ".parquet", ".mcap", ".nc")
POSES = (".toml", ".csv")
INTEGRATORS = ("runge_kutta", "euler", "midpoint")


def robots(incomplete: str) -> list[str]:
    """Built-in robots and robot files."""
    from ..catalog import builtin_robots
    from ..formats import READERS

    found = [x for x in files(incomplete, tuple(READERS)) if not x.lower().endswith(DRIVE_FILES)]
    return [x for x in builtin_robots() if x.startswith(incomplete)] + found


def drive_files(incomplete: str) -> list[str]:
    """Drive files."""
    return files(incomplete, (DRIVE_FILES,))


def trajectories(incomplete: str) -> list[str]:
    """Files of trajectories."""
    return files(incomplete, TRAJECTORIES)


def pose_files(incomplete: str) -> list[str]:
    """Files of poses."""
    return files(incomplete, POSES)


def logs(incomplete: str) -> list[str]:
    """Files of logs."""
    return files(incomplete, LOGS)


def motions(incomplete: str) -> list[str]:
    """Files of runs, logs and trajectories."""
    return files(incomplete, tuple(dict.fromkeys((*LOGS, *TRAJECTORIES))))


def controllers(incomplete: str) -> list[tuple[str, str]]:
    """Registered names, each with the numbers it takes and its summary."""
    from .controllers import registrations, usage

    found = [law for name, law in registrations().items() if name.startswith(incomplete)]
    return [(law.name, f"{usage(law)}: {law.summary}") for law in found]


def algorithms(incomplete: str) -> list[str]:
    """Names of algorithms."""
    from .kernels import all_algorithms

    return [x for x in all_algorithms() if x.startswith(incomplete)]


def integrators(incomplete: str) -> list[str]:
    """Names of integrators."""
    return [x for x in INTEGRATORS if x.startswith(incomplete)]


def measured_states(incomplete: str) -> list[str]:
    """What a law may measure."""
    from ..dynamics.linearization import STATES

    return [x for x in STATES if x.startswith(incomplete)]


def files(incomplete: str, suffixes: tuple[str, ...]) -> list[str]:
    """Files with these suffixes that start with the text, and folders."""
    head, slash, start = incomplete.rpartition("/")
    try:
        found = sorted(Path(head + slash).iterdir())
    except OSError:
        return []
    shown = [x for x in found if x.name.startswith(start) and (start.startswith(".") or not x.name.startswith("."))]
    folders = [f"{head}{slash}{x.name}/" for x in shown if x.is_dir()]
    return [f"{head}{slash}{x.name}" for x in shown if x.name.lower().endswith(suffixes) and x.is_file()] + folders
