"""Reports of reproductions as Markdown, as a page and as CSV."""

import csv
import subprocess
import sys
from pathlib import Path

import papers
from papers import PAPERS
from papers.report import Claim, Grid, PaperFigure, Report, claim_grid, new_figure, saved, write_report


def written(folder):
    figure, axis = new_figure()
    axis.plot([0.0, 1.0], [0.0, 1.0], label="line")
    drawn = saved(figure, folder / "rise.png", "A line rises.", "Fig. 7")
    grids = (claim_grid([Claim("a | b", "1 < 2", "yes", "reproduced")]), Grid("ways_to_C", ["way"], [["sweeps"]]))
    report = Report("Title & more", grids, (drawn, drawn._replace(number="")), ("a note",), ("a choice",))
    return {path.name: path.read_text() for path in write_report(report, folder)}


def test_a_figure_is_an_entry_of_the_report(tmp_path):
    figure, _ = new_figure()
    drawn = saved(figure, tmp_path / "empty.png", "Nothing.")
    assert drawn == PaperFigure(tmp_path / "empty.png", "", "Nothing.")
    assert drawn.path.read_bytes().startswith(b"\x89PNG")
    assert drawn.text == "Not in the paper. Nothing."


def test_markdown_has_tables_figures_choices_and_notes(tmp_path):
    text = written(tmp_path)["report.md"]
    assert "| a \\| b | 1 < 2 | yes | reproduced |" in text
    assert "![rise](rise.png)\n\nFig. 7. A line rises." in text
    assert "Not in the paper. A line rises." in text
    for title, line in (("Ways to C", "| sweeps |"), ("Chosen here", "- a choice"), ("Notes", "- a note")):
        assert text.index(f"## {title}") < text.index(line)


def test_the_page_shows_the_same_with_its_figures_inside(tmp_path):
    text = written(tmp_path)["report.html"]
    for part in ("<h1>Title &amp; more</h1>", "<td>1 &lt; 2</td>", "<h2>Ways to C</h2>", "Fig. 7. A line rises."):
        assert part in text
    assert text.count("data:image/png;base64,") == 2
    assert "rise.png" not in text


def test_tables_as_csv(tmp_path):
    texts = written(tmp_path)
    assert list(csv.reader(texts["claims.csv"].splitlines())) == [
        ["claim", "paper", "here", "verdict"],
        ["a | b", "1 < 2", "yes", "reproduced"],
    ]
    assert texts["ways_to_C.csv"] == "way\nsweeps\n"


def test_papers_are_modules_and_others_are_refused():
    assert PAPERS == ["000", "001", "002", "003", "004"]
    command = [sys.executable, "-m", "papers", "003", "999"]
    outcome = subprocess.run(command, cwd=Path(papers.__path__[0]).parent, capture_output=True, text=True)
    assert outcome.returncode == 2 and "no paper 999; choose from 000, 001" in outcome.stderr
