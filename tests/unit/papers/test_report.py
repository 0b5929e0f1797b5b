"""Reports of reproductions as Markdown, as a page and as CSV."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flexjoint as fj
import papers
from papers import PAPERS
from papers.report import Claim, Drawings, Grid, Report, integrate, write_report


@pytest.fixture
def written(tmp_path):
    """Texts of the files of a report by name."""
    drawings = Drawings(tmp_path, "Somebody (1999)")
    for name, number in (("rise", "Fig. 7"), ("more", "")):
        figure, (left, right) = drawings.panels(2)
        left.plot([0.0, 1.0], [0.0, 1.0], label="line")
        right.plot([0.0, 1.0], [1.0, 0.0])
        drawings.save(figure, name, "a title", "A line rises.", number)
        origin = "Fig. 7 of Somebody (1999)" if number else "Added here"
        assert figure.get_suptitle() == f"{origin}: a title"
        assert left.get_legend() is not None and right.get_legend() is None and not figure.legends
    claims = [Claim("a | b", "1 < 2", "yes", "reproduced")]
    grid = Grid("ways_to_C", ["way"], [["sweeps"]])
    lists = ["a choice"], ["a note"]
    report = Report("Title & more", claims, [("subject", "result")], drawings.figures, [grid], *lists)
    return {path.name: path.read_text() for path in write_report(report, tmp_path)}


def test_markdown_sets_the_paper_and_additions_apart(written):
    text = written["report.md"]
    assert "| a \\| b | 1 < 2 | yes | reproduced |" in text
    parts = ["## Claims of the paper", "## Figures of the paper", "![rise](rise.png)\n\nFig. 7. A line rises."]
    parts += [
        "## Added here",
        "| subject | result |",
        "## Figures added here",
        "(more.png)\n\nAdded here. A line rises.",
    ]
    parts += ["## Ways to C", "| sweeps |", "## Chosen here", "- a choice", "## Notes", "- a note"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_the_page_shows_the_same_with_its_figures_inside(written):
    text = written["report.html"]
    for part in ("<h1>Title &amp; more</h1>", "<td>1 &lt; 2</td>", "<h2>Ways to C</h2>", "Fig. 7. A line rises."):
        assert part in text
    assert text.count("data:image/png;base64,") == 2 and "<li>a note</li>" in text
    assert "rise.png" not in text


def test_tables_as_csv(written):
    assert list(csv.reader(written["claims.csv"].splitlines())) == [
        ["claim", "paper", "here", "verdict"],
        ["a | b", "1 < 2", "yes", "reproduced"],
    ]
    assert written["ways_to_C.csv"] == "way\nsweeps\n"
    assert written["added_here.csv"] == "subject,result\nsubject,result\n"


@pytest.mark.parametrize("name", ["hua_3r", "vsa_3r"])
def test_pictures_show_the_motors(name, tmp_path):
    drawings = Drawings(tmp_path, "Somebody (1999)")
    robot = fj.load(name)
    drawings.robot(robot, np.zeros(robot.n), "An arm.")
    assert drawings.figures[0].path.read_bytes().startswith(b"\x89PNG")
    assert drawings.figures[0].text == "Added here. An arm."


def test_integration_is_exact_and_reports_failure():
    y = integrate(lambda t, y: -y, [1.0], np.linspace(0.0, 2.0, 5), 1e-10, 1e-12)
    assert np.allclose(y[0], np.exp(-np.linspace(0.0, 2.0, 5)), rtol=1e-9)
    with pytest.raises(RuntimeError):
        integrate(lambda t, y: y**2, [1.0], np.linspace(0.0, 2.0, 5), 1e-10, 1e-12)


def test_papers_are_modules_and_others_are_refused():
    assert PAPERS == ["000", "001", "002", "003", "004"]
    command = [sys.executable, "-m", "papers", "003", "999"]
    outcome = subprocess.run(command, cwd=Path(papers.__path__[0]).parent, capture_output=True, text=True)
    assert outcome.returncode == 2 and "no paper 999; choose from 000, 001" in outcome.stderr
