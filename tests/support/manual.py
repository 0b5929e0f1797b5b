"""Pages of the manual as a reader follows them: block by block, in an empty folder.

The convention for writers is in docs/testing.md, "Blocks of pages".  `python -m support.manual PAGE` runs one page.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)``` *$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- not run: (?P<reason>[^>]*?) ?-->\s*\Z")
TITLE = re.compile(r"""title=(["'])(?P<name>.*?)\1""")
NAMED = re.compile(r"\A(?:# |<!-- |// )(?P<name>[\w.-]+\.\w+)(?: -->)?\n")
RUN = ("python", "sh")
SHOWN = "text"
COLUMNS = "100"  # width of tables in a terminal
FOLLOW = f"""import sys; sys.path.insert(0, {str(ROOT / "tests")!r})
from pathlib import Path
from support.manual import follow
follow(Path(sys.argv[1]), Path.cwd())
"""  # the program that `run_forked` runs with a page as its argument, in an empty folder


class Block(NamedTuple):
    """A fenced block: its language, its text, the file it stands for, the reason why it does not run, its line."""

    language: str
    text: str
    file: str | None
    reason: str | None
    line: int


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    source = page.read_text()
    found = []
    for fence in FENCE.finditer(source):
        language, _, options = fence["info"].strip().partition(" ")
        text = re.sub(rf"^{fence['indent']}", "", fence["text"], flags=re.MULTILINE)
        title, named = TITLE.search(options), NAMED.match(text)
        file = title["name"] if title else named["name"] if named and language not in ("sh", SHOWN) else None
        mark = MARK.search(source[: fence.start()])
        found.append(
            Block(language, text, file, mark["reason"] if mark else None, source[: fence.start()].count("\n") + 1)
        )
    return found


def mistakes_in(page: Path) -> list[str]:
    """Blocks that a test can neither run nor compare, and that do not say why."""
    found = []
    for block in blocks_of(page):
        where = f"{page.name}:{block.line}"
        if block.reason is not None and len(block.reason.split()) < 2:
            found.append(f"{where}: say why the block is not run")
        if block.reason is None and block.file is None and block.language not in (*RUN, SHOWN):
            found.append(f"{where}: a block is `python`, `sh`, `text`, has a file name, or is marked with a reason")
    return found


def follow(page: Path, folder: Path) -> None:
    """Run the blocks of a page in order.

    Args:
        page: The Markdown file.
        folder: Where files are written and commands run; the current folder of this process.

    Raises:
        AssertionError: Something fails, or prints something else than the page shows; the message has file and line.
    """
    os.environ["COLUMNS"] = COLUMNS
    names: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None
    for block in blocks_of(page):
        where = f"{page.name}:{block.line}"
        if block.reason is not None:
            printed = None
        elif block.file is not None:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.language == "python":
            stream = StringIO()
            with redirect_stdout(stream):
                exec(compile(block.text, where, "exec"), names)
            printed = stream.getvalue()
        elif block.language == "sh":
            printed = "".join(output_of(line, folder, where) for line in commands_of(block.text))
        elif block.language == SHOWN and printed is not None:
            assert same(block.text, printed), f"{where}: the page shows\n{block.text}\nbut this is printed:\n{printed}"


def commands_of(text: str) -> list[str]:
    """Commands of a shell block: one per line, `\\` at the end continues a line."""
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def output_of(command: str, folder: Path, where: str) -> str:
    """Standard output of a command; `flexjoint` alone runs in this process, anything else in bash."""
    words = shlex.split(command, comments=True)
    if words[0] == "flexjoint" and not re.search(r"[|<>&;*$`]", re.sub(r"'[^']*'|\"[^\"]*\"", "", command)):
        from typer.testing import CliRunner

        from flexjoint.cli import app

        done = CliRunner().invoke(app, words[1:])
        code, stdout, shown = done.exit_code, done.stdout, done.output + repr(done.exception or "")
    else:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        sources = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"PATH": path, "PYTHONPATH": sources}
        ended = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
        )
        code, stdout, shown = ended.returncode, ended.stdout, ended.stdout + ended.stderr
    assert code == 0, f"{where}: `{command}` ends with exit code {code}:\n{shown}"
    return stdout


def same(wanted: str, found: str) -> bool:
    """Whether a page shows what is printed: spaces do not count, `...` stands for anything."""
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted.strip() + "\n", found.strip() + "\n", options)


def main() -> None:
    page = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        os.chdir(folder)
        follow(page, Path(folder))


if __name__ == "__main__":
    main()
