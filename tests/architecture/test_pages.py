"""The README and the pages of docs/ can be pasted: their Python blocks and commands run in an empty folder.

docs/how-to/ and docs/concepts/ take longer and are run by tests/pages_of_the_manual.py.
"""

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
from support.manual import DOCS, FOLLOW, blocks_of, mistakes_in, same

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
START = sorted((DOCS / "start").glob("*.md"))
MANUAL = [page for folder in ("start", "how-to", "concepts", "reference") for page in sorted((DOCS / folder).glob("*.md"))]
ELSEWHERE = {
    "getting-started.md",
    "detection.md",
    "parameters.md",
    "variable-stiffness.md",
    "variable-stiffness-control.md",
    "observers.md",
    "results.md",
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


@pytest.mark.parametrize("page", START, ids=lambda page: page.name)
def test_the_first_pages_can_be_followed(page, tmp_path):
    """Files, commands and Python code in order; what a page shows is what comes out."""
    done = run_forked(FOLLOW, tmp_path, str(page))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", MANUAL, ids=lambda page: str(page.relative_to(DOCS)))
def test_blocks_of_the_manual_run_or_say_why_not(page):
    assert mistakes_in(page) == []


def test_a_page_that_is_wrong_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    shown = "```python\nprint(1 / 4)\n```\n\n```text\n%s\n```\n"
    page.write_text(shown % "0.25")
    assert run_forked(FOLLOW, tmp_path, str(page)).returncode == 0
    page.write_text(shown % "0.26")
    assert "but this is printed:\n0.25" in run_forked(FOLLOW, tmp_path, str(page)).stderr
    page.write_text("```sh\ntouch made && false\n```\n")
    assert "ends with exit code 1" in run_forked(FOLLOW, tmp_path, str(page)).stderr and (tmp_path / "made").exists()
    page.write_text("```c\nint x;\n```\n<!-- not run: slow -->\n```sh\nls\n```\n")
    assert [x.split()[0] for x in mistakes_in(page)] == ["page.md:1:", "page.md:5:"]
    page.write_text("```toml title=\"a.toml\"\nx = 1\n```\n```python\n# law.py\ny = 2\n```\n")
    assert [block.file for block in blocks_of(page)] == ["a.toml", "law.py"]
    assert same("a ... 2\n", "a  1 2") and not same("a 2", "a 3")
