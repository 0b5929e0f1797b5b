"""The README and the pages of docs/ can be pasted: their Python blocks and commands run in an empty folder.

The README and docs/start/ run in the suite, the other pages in `make test-long`.
"""

import re
import shutil
from pathlib import Path

import pytest

from support.forked import run_forked
from support.manual import DOCS, FOLLOW, blocks_of, mistakes_in, same

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(DOCS.glob("*.md"))
FOLDERS = ("start", "how-to", "concepts", "reference")
MANUAL = [page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.md"))]
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


@pytest.mark.long
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if CODE.search(page.read_text()) and page.name not in ELSEWHERE],
    ids=lambda page: page.name,
)
def test_python_blocks_run(page, tmp_path):
    """In a process of their own: pages register controllers, springs and trajectories."""
    done = run_forked("\n".join(CODE.findall(page.read_text())), tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_readme_can_be_followed(tmp_path):
    """In an empty folder, with a URDF of the reader's own; it stays a page that is read at once."""
    page = ROOT / "README.md"
    assert mistakes_in(page) == [] and len(page.read_text().splitlines()) < 150
    shutil.copy(ROOT / "tests/data/urdf/panda_arm.urdf", tmp_path / "robot.urdf")
    done = run_forked(FOLLOW, tmp_path, str(page))
    assert done.returncode == 0, done.stderr
    assert {"torques.png", "run.png", "film.html"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.long] * (page.parent.name != "start")) for page in MANUAL],
    ids=lambda page: str(page.relative_to(DOCS)),
)
def test_the_manual_can_be_followed(page, tmp_path):
    """Files, commands and Python code in order; what a page shows is what comes out."""
    done = run_forked(FOLLOW, tmp_path, str(page))
    assert done.returncode == 0, done.stderr


def test_every_page_is_in_the_navigation():
    """Pages of docs/how-to/ are listed in its index.md, all others in mkdocs.yml."""
    config, index = (ROOT / "mkdocs.yml").read_text(), DOCS / "how-to" / "index.md"
    for page in [*PAGES, *(x for x in MANUAL if x.parent.name in ("start", "concepts"))]:
        assert re.search(rf"[:-] {page.relative_to(DOCS)}$", config, re.MULTILINE), f"add {page.name} to mkdocs.yml"
    for page in index.parent.glob("*.md"):
        assert page == index or f"]({page.name})" in index.read_text(), f"add {page.name} to docs/how-to/index.md"


def test_blocks_of_the_manual_run_or_say_why_not():
    assert [mistake for page in MANUAL for mistake in mistakes_in(page)] == []


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
