"""Exports are documented, citations exist, examples run."""

import doctest
import inspect
import io
import itertools
import json
import re
import shlex
import shutil
import subprocess
import sys
import tokenize
from contextlib import chdir
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from support.forked import run_forked
from support.public import ALGORITHMS, PUBLIC, TOP

ROOT = Path(__file__).parent.parent.parent
SOURCES = sorted([*(ROOT / "src" / "flexjoint").rglob("*.py"), *(ROOT / "papers").glob("*.py")])
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SHORT = {"identification_log.py", "trajectories.py"}
FOLLOWED = "collision_log.py"  # run by test_the_page_on_detection_can_be_followed
CITATION = re.compile(r"\[([A-Z]\w+)(?:\]| \(| sec\.| ch\.| table)")


# Exports --------------------------------------------------------------------------------------------------------


def test_exports_exist_and_are_documented():
    for name, thing in PUBLIC.items():
        if inspect.isclass(thing) or inspect.isroutine(thing):
            text = inspect.getdoc(thing) or ""
            assert len(text.split()) >= 3, f"{name} needs a docstring"
            generated = rf"{thing.__name__}\(.*\)"  # by dataclasses and NamedTuples
            assert not re.fullmatch(generated, text), f"{name} has only its generated docstring"


def test_algorithms_are_exported():
    from flexjoint.algorithm.algorithm import ALGORITHMS as REGISTERED

    assert {name.split(".")[-1] for name in ALGORITHMS} == set(REGISTERED)
    assert "inverse_dynamics" in ALGORITHMS and "control.laws.passivity_torque" in ALGORITHMS


def test_algorithms_have_signals_for_all_they_take():
    """Every positional array and every output is described in SIGNALS, or tracing would fail at a user's."""
    from flexjoint.algorithm.algorithm import CALL_OPTIONS
    from flexjoint.algorithm.signals import SIGNALS
    from flexjoint.algorithm.structure import KEYWORD_ARRAYS

    options = {"order", "link", "variant", "motors", "measured", "couplings"}
    kinds = inspect.Parameter
    for name, algorithm in ALGORITHMS.items():
        parameters = list(inspect.signature(algorithm).parameters.values())
        assert parameters[0].name == "robot", name
        for parameter in parameters[1:]:
            if parameter.kind is kinds.POSITIONAL_OR_KEYWORD:
                assert parameter.name in SIGNALS, name
            elif parameter.kind is kinds.KEYWORD_ONLY:
                assert parameter.name in {*KEYWORD_ARRAYS, *CALL_OPTIONS, *options}, name


# Citations --------------------------------------------------------------------------------------------------------


@cache
def prose(text):
    """Comments and strings of a module."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join(x.string for x in tokens if x.type in (tokenize.COMMENT, tokenize.STRING))


def cited_in(path):
    """Works that a module cites."""
    text = path.read_text()
    return set(CITATION.findall(prose(text))) if CITATION.search(text) else set()  # most modules cite nothing


@cache
def keys_of_bibliography():
    return set(re.findall(r"^@\w+\{\s*([^,\s]+)\s*,", (ROOT / "references.bib").read_text(), re.MULTILINE))


def test_citations_are_found():
    text = '# A [EJNEA (39)], [Featherstone ch. 6]\nx = y[Any]\n"""See [Hoepler] and [Craig table 2.1]; [q, v], [x]."""'
    assert CITATION.findall(prose(text)) == ["EJNEA", "Featherstone", "Hoepler", "Craig"]
    assert len(list(itertools.islice((x for path in SOURCES for x in cited_in(path)), 6))) == 6


def test_cited_works_are_in_the_bibliography():
    for path in [*SOURCES, *EXAMPLES]:
        assert cited_in(path) - keys_of_bibliography() == set(), path.relative_to(ROOT)


# Documentation ----------------------------------------------------------------------------------------------------

FOLDERS = ("src", "papers", "tests", "docs", "benchmarks", "examples")
NAMED_FILE = re.compile(r"`(?:[\w-]+/)+[\w-]+\.(?:py|toml|c|h|json|md)`")
CHANGELOG = ROOT / "CHANGELOG.md"  # names files that no longer exist


@cache
def known_files():
    return [f"/{path.relative_to(ROOT)}" for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]


def files_named_in(page):
    return {name.strip("`") for name in NAMED_FILE.findall(page.read_text())}


def test_files_that_a_page_names_exist():
    """A page may leave out the first folders: `ir/trace.py` is src/flexjoint/compiler/ir/trace.py."""
    for page in sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - {CHANGELOG}):
        missing = [x for x in files_named_in(page) if not any(path.endswith(f"/{x}") for path in known_files())]
        assert missing == [], page.relative_to(ROOT)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("parameters.md", "138."), ("variable-stiffness-control.md", "2e-07"), ("variable-stiffness.md", "[545.")],
)  # the first number that a page prints
@pytest.mark.long
def test_code_in_the_documentation_runs(name, shown, tmp_path):
    """In a process of its own: a page may register a drive."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / name).read_text(), re.DOTALL)
    assert blocks
    done = run_forked("\n".join(blocks), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0].startswith(shown)


@pytest.mark.long
def test_the_page_on_observers_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "observers.md").read_text(), re.DOTALL)
    exec("\n".join(blocks), {})
    delay, struck, *_ = capsys.readouterr().out.splitlines()
    assert 0 < float(delay) < 0.005 and struck == "['link3']"


@pytest.mark.long
def test_the_page_on_results_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "results.md").read_text(), re.DOTALL)
    exec("\n".join(blocks), {})
    printed = capsys.readouterr().out
    assert printed.startswith("Nm FeedforwardPD {'time': 1201")
    figures = {f"{name}.png" for name in ("run", "loop", "bode", "nyquist", "step", "locus", "modes")}
    assert figures | {"run.nc", "run.html"} == {path.name for path in tmp_path.iterdir()}


@pytest.mark.long
def test_the_page_on_studies_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "studies.md").read_text(), re.DOTALL)
    exec("\n".join(blocks), {})
    printed = capsys.readouterr().out
    assert "failed; the first with" in printed and "controller.data.gain was 400.0, now it is 300.0" in printed
    assert "<SweepTable over gains.K_P, gains.K_D, payload: 12 points" in printed
    assert {"samples", "python_law"} == {path.name for path in tmp_path.iterdir()}


# Listings ---------------------------------------------------------------------------------------------------------

BLOCK = re.compile(r"^```\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = [
    (command, wanted)
    for page in ("compiler.md", "exported-c.md")
    for block in BLOCK.findall((ROOT / "docs" / page).read_text())
    for command, wanted in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


def outcome(command, folder):
    """What a command of the documentation prints."""
    program, *arguments = shlex.split(command)
    if program == "cat":
        return (folder / arguments[0]).read_text()
    if program == "python" and arguments[0].endswith(".py"):
        script, *rest = arguments
        done = run_forked((folder / script).read_text(), folder, *rest, name=script)
        assert done.returncode == 0, done.stderr
        return done.stdout
    if program == "python":
        python = [sys.executable, *arguments]
        return subprocess.run(python, cwd=folder, capture_output=True, text=True, check=True).stdout
    with chdir(folder):
        done = CliRunner().invoke(app, arguments)
    assert program == "flexjoint" and done.exit_code == 0, (command, done.output)
    return done.stdout


def test_listings_are_what_the_commands_print(tmp_path):
    """`...` stands for what is left out; machine code is compared on the processor it was printed for."""
    from llvmlite import binding

    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    here = f"(`{binding.get_host_cpu_name()}`) with LLVM {binding.llvm_version_info[0]}"
    same_machine = here in (ROOT / "docs" / "compiler.md").read_text()
    assert len(COMMANDS) >= 9
    for command, wanted in COMMANDS:
        found = outcome(command, tmp_path)
        if "--assembly" not in command or same_machine:
            assert doctest.OutputChecker().check_output(wanted, found, doctest.ELLIPSIS), (command, found)


# Examples ---------------------------------------------------------------------------------------------------------


def test_there_are_examples():
    assert EXAMPLES and FOLLOWED in {path.name for path in EXAMPLES}
    assert FOLLOWED in (ROOT / "docs" / "detection.md").read_text()


@pytest.mark.parametrize(
    "path",
    [pytest.param(x, marks=[pytest.mark.long] * (x.name not in SHORT)) for x in EXAMPLES if x.name != FOLLOWED],
    ids=lambda path: path.name,
)
def test_examples_run(path, tmp_path):
    done = run_forked(path.read_text(), tmp_path, "--output", str(tmp_path), name=str(path))
    assert done.returncode == 0, done.stderr
    assert {".png", ".gif"} & {x.suffix for x in tmp_path.iterdir()}, "every example makes a figure for the gallery"


@pytest.mark.long
@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_run(path, tmp_path):
    """All cells in order; lines for IPython, such as %matplotlib, are left out."""
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 3 and not any(cell["outputs"] for cell in cells), "notebooks are kept without outputs"
    lines = [line.rstrip("\n") for cell in cells for line in [*cell["source"], ""] if not line.startswith("%")]
    done = run_forked("\n".join(lines), tmp_path, name=path.name)
    assert done.returncode == 0 and done.stdout, done.stderr


# The first steps ------------------------------------------------------------------------------------------------------


def test_getting_started_can_be_followed(tmp_path, monkeypatch):
    """Its files, commands and Python code, in order, in an empty folder; what it shows is what comes out."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    printed = ""
    text = (ROOT / "docs" / "getting-started.md").read_text()
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)
    assert {"toml", "sh", "text", "python"} == {kind for kind, _ in blocks}
    for kind, block in blocks:
        if kind == "toml":
            (tmp_path / block.splitlines()[0].removeprefix("# ")).write_text(block)
        elif kind == "text":
            assert [x.split() for x in block.splitlines() if x.strip()] == [
                x.split() for x in printed.splitlines() if x.strip() and not x.startswith("wrote")
            ]
        elif kind == "python":
            exec(compile(block, "getting-started.md", "exec"), {})
        else:
            for line in block.splitlines():
                if line.startswith("flexjoint "):
                    done = CliRunner().invoke(app, shlex.split(line)[1:])
                    assert done.exit_code == 0, done.output
                    printed = done.stdout
    header = (tmp_path / "torques.csv").read_text().splitlines()[0]
    assert "tau.joint1 [Nm]" in header and (tmp_path / "torques.png").exists()


@pytest.mark.long
def test_the_page_on_detection_can_be_followed(tmp_path, monkeypatch, capsys):
    """Its example, its command and its Python code; what it shows is what comes out."""
    text = (ROOT / "docs" / "detection.md").read_text()
    shell, listing, code = (re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)[1] for kind in ("sh", "text", "python"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    script, command = shell.splitlines()
    outcome(script.replace("examples/", f"{ROOT}/examples/"), tmp_path)
    printed = outcome(command, tmp_path)
    assert [x.split() for x in listing.splitlines()] == [x.split() for x in printed.splitlines() if x.strip()]
    exec(compile(code, "detection.md", "exec"), {})
    assert "7.011 s {'link'} ['link2']" in capsys.readouterr().out
    assert {"collision_log.png", "detections.png", "residuals.csv"} <= {x.name for x in tmp_path.iterdir()}


# Names ------------------------------------------------------------------------------------------------------------


def similar(names):
    """Pairs that differ only by case or a final s; among functions or classes also by underscores."""

    def keys(name):
        plain = name.lower().rstrip("s")
        return plain, ("class" if name[0].isupper() else "function", plain.replace("_", ""))

    pairs = itertools.combinations(sorted(names), 2)
    return {(a, b) for a, b in pairs if any(x == y for x, y in zip(keys(a), keys(b)))}


def test_similar_names_would_be_seen():
    names = ["Momentum", "momentum", "Stop", "Stops", "link_state", "linkstate", "LinkMotion", "link_motion"]
    assert similar(names) == {("Momentum", "momentum"), ("Stop", "Stops"), ("link_state", "linkstate")}


def test_no_two_public_names_are_alike():
    names = {name.split(".")[-1] for name, x in PUBLIC.items() if callable(x)}
    assert similar(names) == set()


def test_help_shows_what_every_call_takes():
    signature = inspect.signature(fj.forward_dynamics)
    assert [*signature.parameters][:6] == ["robot", "q", "v", "theta", "theta_v", "tau"]
    assert [*signature.parameters][-3:] == ["out", "finite", "threads"]


ERRORS = [name for name, x in TOP.items() if inspect.isclass(x) and issubclass(x, BaseException)]


def test_top_level_names_have_an_example():
    for name in TOP.keys() - ERRORS:
        assert ">>> " in (inspect.getdoc(TOP[name]) or ""), f"{name} needs an example that runs"


def test_algorithms_document_what_they_take():
    for name, algorithm in ALGORITHMS.items():
        text = inspect.getdoc(algorithm) or ""
        for parameter in inspect.signature(algorithm).parameters:
            common = parameter in ("robot", "out", "finite", "threads")
            documented = common or re.search(rf"\b{parameter}\b", text) or "rguments" in text
            assert documented, f"{name}: say what {parameter} is"
