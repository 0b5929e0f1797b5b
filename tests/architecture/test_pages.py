"""The README and the pages of docs/ can be pasted: their Python blocks and commands run in an empty folder."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flexjoint.cli import app
from flexjoint.reproduce import paper_000
from flexjoint.reproduce.report import Report, claim_grid
from support.forked import run_forked

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ELSEWHERE = {
    "getting-started.md",
    "detection.md",
    "parameters.md",
    "variable-stiffness.md",
    "variable-stiffness-control.md",
    "observers.md",
    "results.md",
    "studies.md",
}  # run by test_documents.py, which also compares what they print
ELSEWHERE |= {"arrays-of-others.md"}  # run by tests/unit/adapters/test_page.py where JAX and PyTorch are installed
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^(?:    |)(flexjoint (?:\S.*))$", re.MULTILINE)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if CODE.search(page.read_text()) and page.name not in ELSEWHERE],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_python_blocks_run(page, tmp_path):
    """In a process of their own: pages register controllers, springs and trajectories."""
    done = run_forked("\n".join(CODE.findall(page.read_text())), tmp_path)
    assert done.returncode == 0, done.stderr


def test_commands_of_the_readme_run(tmp_path, monkeypatch):
    """In an empty folder, with a URDF of the reader's own.

    Paper 000 takes 40 s and is `make papers`; tests/unit/reproduce runs it with fewer samples and chains.
    """
    monkeypatch.setattr(paper_000, "run", lambda folder, say: Report("Section V", (claim_grid([]),)))
    shutil.copy(ROOT / "tests/data/urdf/panda_arm.urdf", tmp_path / "robot.urdf")
    monkeypatch.chdir(tmp_path)
    commands = COMMAND.findall((ROOT / "README.md").read_text())
    assert len(commands) >= 4
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command, comments=True)[1:])
        assert done.exit_code == 0, f"{command}: {done.output}"
