"""Reports: complete, harmless whatever names a file has, and repeatable by their command."""

from __future__ import annotations

import re
import shlex
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from flexjoint.cli.report_request import shell_line
from flexjoint.control_characters import harmless
from flexjoint.python_code import Code, call, literal
from support.pages import Reader

PAGE = Path(__file__).parents[3] / "docs" / "reports.md"
EVIL = '"><script>alert(1)</script>'
JOINT = "<img src=x onerror=alert(2)>\x1b[31m\u202e"
STEP = '{kind = "filtered_step", goal = 0.3, time_constant = 0.02, order = 16}'
PD = ["--controller", "motor_pd", "--gains", "400,20"]
RUN = ["simulate", "arm.toml", *PD, "--trajectory", STEP, "--duration", "0.05"]
COMMANDS = {
    "torques": ["torques", "arm.toml", STEP, "--rigid", "--sensitivity", "*.mass=5%", "-o", "torques.npz"],
    "simulate": [*RUN, "--sensor", "torque_noise=0.05", "-o", "simulate.npz"],
    "study": [*RUN, "--samples", "8", "--vary", "payload=0..1", "--limit", "0.001", "--json"],
    "detect": ["detect", "arm.toml", "log.csv", "--threshold", "0.5", "-o", "detect.npz"],
    "rotors": ["rotors", "arm.toml", STEP, "--samples", "20", "--json"],
    "linearize": ["linearize", "arm.toml", "--at", "0.3", *PD, "--json"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A robot with hostile names, and a log of it with a column that is hostile too."""
    place = tmp_path_factory.mktemp("reports")
    drive = fj.ElasticDrive(1000.0, fj.Motor(0.3, gear_ratio=50.0))
    joint = fj.Joint(JOINT, drive=drive, coulomb_friction=0.5, coulomb_velocity=0.01)
    link = fj.Link(f"link{EVIL}", joint, "base", 1.0, [0.2, 0, 0], 0.01 * np.eye(3))
    source = fj.robot.Source("*.drive", "placeholder", note=EVIL)
    robot = fj.Robot(f"arm{EVIL}", (link,)).with_sources([source])
    fj.write_robot(robot, place / "arm.toml")
    t = np.arange(0.0, 0.05, 1e-3)
    names = ["t", *(f"{x}.{JOINT}" for x in ("q", "v", "theta", "theta_v", "tau")), "<b>" + "x" * 10**5]
    rows = [",".join(names), *(",".join([f"{x:g}", *["0"] * 4, "1", "0"]) for x in t)]
    (place / "log.csv").write_text("\n".join(rows), encoding="utf-8")
    return place


@pytest.fixture(scope="module", params=COMMANDS)
def made(request, folder):
    """A command with --report: its name, arguments, result and page."""
    arguments = [*COMMANDS[request.param], "--report", "page.html"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return request.param, arguments, result, (folder / "page.html").read_text(encoding="utf-8")


def test_a_page_is_complete(made, folder):
    name, arguments, result, text = made
    page = Reader(text)
    assert {"Robot", "Settings", "Command that repeats it", "Provenance"} <= {*page.inside("h2")}
    cells = page.inside("td")
    robot = fj.load(folder / "arm.toml")
    digests = {"rotors": fj.analysis.rotor_models.complete(robot).digest, "study": ""}  # a study has its payload
    assert digests.get(name, robot.digest) in [*cells, ""]
    assert {"flexjoint", "numpy", "casadi", "llvmlite", "python", "processor", "date"} <= {*cells}
    assert any("placeholder" in x for x in page.inside("p"))  # the worst trust
    assert "ROBOT" in cells and "arm.toml" in cells
    images = [x["src"] for tag, x in page.attributes if tag == "img"]
    assert len(images) == (4 if name == "linearize" else 1)
    (command,) = page.inside("code")
    assert shlex.split(command) == ["flexjoint", *arguments]
    shown = [x.removeprefix("flexjoint: warning: ") for x in result.stderr.splitlines() if ": warning: " in x]
    assert page.inside("li") == shown
    assert "page.html" in result.output  # written files are named, as JSON too


def test_names_do_nothing(made):
    text = made[-1]
    page = Reader(text)
    assert {tag for tag, _ in page.attributes} <= {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "section", "table", "caption"),
        *("tr", "th", "td", "figure", "img", "figcaption", "div", "ul", "li", "pre", "code"),
    }
    attributes = {(tag, name) for tag, found in page.attributes for name in found}
    assert not [x for x in attributes if x[1].startswith("on") or x[1] in ("href", "srcset", "action")]
    assert all(x["src"].startswith("data:image/png;base64,") for tag, x in page.attributes if tag == "img")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert any(x.startswith("<img src=x onerror=alert(2)>\\x1b[31m\\u202e") for x in page.inside("td"))
    assert max(map(len, page.inside("p"))) < 5000


def test_expressions_of_python():
    values = [1.5, float("inf"), "a'b\x1b", (1,), [np.float64(0.1)], {"x": None}, np.array([[1.0, 2.0]]), True]
    again = eval(literal(values))
    assert again[:6] == [*values[:4], [0.1], {"x": None}] and again[6:] == [[[1.0, 2.0]], True]
    assert call("f", Code("x"), "y", a=None, b=2) == "f(x, 'y', b=2)"
    long = call("dict", **{f"name{k}": "z" * 20 for k in range(9)})
    assert "\n" in long and eval(long) == {f"name{k}": "z" * 20 for k in range(9)}


def test_shells_read_the_command_line():
    words = ["a b", "it's", "\x1b[31m", "new\nline'\\", "$HOME `x` !", "軸", "\udcff", "", "{x = 1}"]
    line = shell_line(["printf", "%s\\0", *words])
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert done.stdout.split(b"\0")[:-1] == [x.encode(errors="surrogateescape") for x in words]


# In Python ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def batch(folder):
    """Two runs, the second of which diverges."""
    robot = fj.load(folder / "arm.toml").without_friction()
    law = fj.control.MotorPD(robot, [400.0, 20.0])
    gains = np.array([[[400.0], [20.0]], [[4e5], [-1e6]]])
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        run = fj.simulate(robot, law, fj.trajectory.RestToRest([0.0], [0.3], 0.05), gains=gains, check=False)
    return run, shown


def test_a_report_of_runs(batch, tmp_path):
    run, shown = batch
    assert run.diverged.tolist() == [False, True]
    table = fj.reports.Table(["what"], [["<b>"]], title="more & more")
    fj.reports.write_report(run, tmp_path / "x.html", warnings=shown, tables=[table], python="print(1)")
    page = Reader((tmp_path / "x.html").read_text(encoding="utf-8"))
    assert page.inside("li") == [harmless(str(x.message)) for x in shown] and "diverged" in page.inside("li")[0]
    assert "More & more" in page.inside("h2") and "<b>" in page.inside("td") and page.inside("code") == ["print(1)"]
    ended = int(run.periods[1])
    largest = max(np.abs(run.error[0]).max(), np.abs(run.error[1, : ended + 1]).max())
    assert f"{np.degrees(largest):.3g} °" in page.inside("td")
    assert "error when it diverged" in page.inside("th") and "integrator" in page.inside("td")


def test_what_is_given_replaces_what_a_result_knows(batch, tmp_path):
    settings, figures = {"colour": "red", "none": None}, {"A picture.": b"\x89PNG" + bytes(20)}
    fj.reports.write_report(batch[0], tmp_path / "x.html", title="T < U", settings=settings, figures=figures)
    page = Reader((tmp_path / "x.html").read_text(encoding="utf-8"))
    assert page.inside("h1") == ["T < U"] and page.inside("figcaption") == ["A picture."]
    cells = page.inside("td")
    assert cells[cells.index("colour") + 1] == "red" and "integrator" not in cells
    assert not page.inside("li") and "No warnings." not in page.inside("p")  # they are not known


def test_a_loop_gain_has_a_report(tmp_path):
    robot = fj.load("hua_3r")
    loop = fj.analysis.loop_gain(robot, [0.1, 0.2, 0.3], fj.control.MotorPD(robot, [400.0, 40.0]), "joint2")
    found = fj.reports.content_of(loop)
    assert found.title == "Loop gain of hua_3r at joint2" and [*found.figures][1].startswith("Nyquist")
    assert [x.title for x in found.shown[1:]] == ["stability margins, one loop at a time", "poles"]


@pytest.mark.parametrize(
    ("result", "path", "words"),
    [
        (np.zeros(3), "x.html", "write_report: result is array"),
        (None, "x.pdf", "a report is written to a file that ends in .html"),
        (None, "nowhere/x.html", "there is no folder"),
    ],
)
def test_what_is_no_report(result, path, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fj.InputError, match=re.escape(words)):
        fj.reports.write_report(result, path)
    assert not [*tmp_path.iterdir()]


def test_a_bad_path_is_refused_before_the_work(tmp_path):
    result = CliRunner().invoke(app, ["torques", "hua_3r", STEP, "--report", str(tmp_path / "x.pdf")])
    assert result.exit_code == 2 and ".html" in result.stderr


def test_the_page_on_reports_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(block, {})
    cells = Reader((tmp_path / "torques.html").read_text(encoding="utf-8")).inside("td")
    assert cells[cells.index("payload") + 1] == "none"
