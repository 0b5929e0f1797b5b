"""Installs flexjoint with the lowest versions that pyproject.toml allows, and runs a selection of tests.

    python tests/lowest_versions.py [--folder FOLDER]    # a new environment there, or in a temporary folder

Each `package>=version` of the dependencies and of the extra `results` becomes `package==version`; what those packages
need themselves is as new as they allow.  The tests run against the installed package, not against the sources.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOOLS = ["pytest>=8", "mpmath>=1.3"]  # what the tests need
TESTS = (
    *("unit/cli/test_cli.py", "unit/cli/test_cli_results.py", "unit/cli/test_cli_simulate.py", "unit/algorithm"),
    *("unit/springs", "unit/formats", "unit/trajectory", "unit/results", "unit/plots", "unit/logs/test_logs.py"),
    *("unit/simulation/test_python_laws.py", "closed_form"),
)
PINOCCHIO = ("unit/formats/test_urdf.py", "unit/formats/test_urdf_writing.py")  # they need it, and it newer packages


def lowest(project: dict) -> list[str]:
    """The dependencies, pinned to their lower bounds."""
    wanted = [*project["dependencies"], *project["optional-dependencies"]["results"]]
    if loose := [x for x in wanted if x.count(">=") != 1 or "," in x]:
        raise SystemExit(f"{loose[0]} has no lower bound of the form package>=version")
    return [x.replace(">=", "==") for x in wanted]


def run(*command: object, cwd: Path = ROOT) -> None:
    print("$", *command, flush=True)
    subprocess.run([str(x) for x in command], cwd=cwd, check=True)


def main(folder: Path) -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    python = folder / "env" / "bin" / "python"
    venv.create(folder / "env", with_pip=True)
    run(python, "-m", "pip", "install", "--quiet", *lowest(project), *TOOLS)
    copy = folder / "flexjoint"
    ignored = shutil.ignore_patterns(".git", ".venv", "build", "out", "*.so", "*.egg-info", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, copy, ignore=ignored, dirs_exist_ok=True)
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", copy)
    shutil.rmtree(copy / "src")  # only the installed package is left
    tests = [*(f"tests/{name}" for name in TESTS), *(f"--ignore=tests/{name}" for name in PINOCCHIO)]
    return subprocess.run([str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests], cwd=copy).returncode


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args().folder
    if chosen is not None:
        sys.exit(main(chosen.absolute()))
    with tempfile.TemporaryDirectory() as path:
        sys.exit(main(Path(path)))
