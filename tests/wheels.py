"""Builds a source archive and a wheel per interpreter, installs each without a compiler, and tries it.

    python tests/wheels.py                                  # every python3.11 and later that is found
    python tests/wheels.py --python /usr/bin/python3.12     # these

The extension in C must be built (FLEXJOINT_EXTENSION=required, as for released wheels).  The wheel is then installed
into an empty environment in which no compiler can be found, and computes torques, simulates, and runs the command line
as `flexjoint` and as `python -m flexjoint`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SMOKE = """
import numpy as np
import flexjoint as fj

assert "C extension" in fj.show_config()
robot = fj.load("kuka_lwr")
motion = fj.trajectory.RestToRest(np.zeros(7), np.full(7, 0.3), duration=0.5)
tau = fj.inverse_dynamics(robot, *motion(np.linspace(0.0, 0.5, 101)))
run = fj.simulate(robot, fj.control.MotorPD(robot, [1000.0, 50.0]), motion, 0.1)
assert np.isfinite(tau).all() and np.isfinite(run.q).all() and "site-packages" in fj.__file__
"""


def interpreters() -> list[Path]:
    """Every CPython from 3.11 on that is found, one per version."""
    found = {}
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders = [Path(x) for x in os.environ.get("PATH", "").split(os.pathsep)] + [x / "bin" for x in versions.glob("*")]
    for folder in folders:
        for path in sorted(folder.glob("python3.*")) if folder.is_dir() else []:
            match = re.fullmatch(r"python3\.(\d+)", path.name)
            if match and int(match[1]) >= 11 and "shims" not in folder.parts:
                found.setdefault(path.name, path)
    return [*found.values()] or [Path(sys.executable)]


def run(*command: object, **options: object) -> None:
    print("$", *command, flush=True)
    subprocess.run([str(x) for x in command], check=True, **options)


def tried(python: Path, folder: Path) -> None:
    """A wheel of one interpreter, installed into an empty environment and used there."""
    wheels, place = folder / "wheels", folder / "env"
    environment = os.environ | {"FLEXJOINT_EXTENSION": "required"}
    build = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, ROOT)
    run(python, "-m", "venv", place)
    inside = place / "bin" / "python"
    run(inside, *build, env=environment)
    wheel = next(wheels.glob("flexjoint-*.whl"))
    print(f"  {wheel.name}, {wheel.stat().st_size / 1e6:.2f} MB")
    run(inside, "-m", "pip", "install", "--quiet", wheel)
    bare = {k: x for k, x in os.environ.items() if k not in ("PYTHONPATH", "CC")} | {"PATH": str(place / "bin")}
    run(inside, "-c", SMOKE, env=bare, cwd=folder)
    for words in (("flexjoint",), (inside, "-m", "flexjoint")):
        program = place / "bin" / "flexjoint" if words == ("flexjoint",) else words[0]
        run(program, *words[1:], "info", "panda", "-q", env=bare, cwd=folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, action="append")
    chosen = parser.parse_args().python or interpreters()
    with tempfile.TemporaryDirectory() as path:
        source = Path(path) / "source"
        run(sys.executable, "-m", "venv", source / "env")
        inside = source / "env" / "bin" / "python"
        run(inside, "-m", "pip", "install", "--quiet", "build")
        run(inside, "-m", "build", "--sdist", "--outdir", source, ROOT, stdout=subprocess.DEVNULL)
        archive = next(source.glob("flexjoint-*.tar.gz"))
        print(f"  {archive.name}, {archive.stat().st_size / 1e6:.2f} MB")
    for python in chosen:
        with tempfile.TemporaryDirectory() as path:
            tried(python, Path(path))
    print(f"wheels of {len(chosen)} interpreters installed and tried")
    return 0


if __name__ == "__main__":
    sys.exit(main())
