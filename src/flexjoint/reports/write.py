"""A result as one self-contained HTML page: `write_report`."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import html
from ..atomic import replacing
from ..results.files import check_path
from ..tables import Table
from .content import Content, content_of
from .provenance import provenance_rows
from .robot_section import robot_section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Picture = Figure | bytes | Callable[[], Figure | bytes]

RESOLUTION = 150  # dots per inch: sharp on a screen and in print
FOLDER_NOTE = "Relative names of files count from the folder in which the report was made."


def write_report(
    result: Any,
    path: str | os.PathLike[str],
    *,
    title: str = "",
    settings: Mapping[str, object] | None = None,
    tables: Iterable[Table] = (),
    figures: Mapping[str, Picture] | None = None,
    warnings: Iterable[object] | None = None,
    command: str = "",
    python: str = "",
) -> None:
    """Write a result as one HTML page, which needs no other file and no network.

    The page shows robot, settings, figures, tables, warnings, versions, and how to repeat the result.

    Args:
        result: A MotorTable, StiffnessTable, Simulation, MonteCarlo, DetectionReport, RotorComparison, LinearModel or
            LoopGain.
        path: .html file to write.
        title: Heading; default one for the kind of result.
        settings: Values by name; default those that the result knows.
        tables: Further tables, which come first; default none.
        figures: Figures, functions that draw them, or PNG pictures as bytes, by caption; default those of the result.
        warnings: Texts or records of `warnings.catch_warnings(record=True)`; default None, not known.
        command: Command line that repeats the result; default none.
        python: Python that repeats the result; default none.

    Raises:
        InputError: There are no reports of such a result, or no file can be written there.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> run = fj.simulate(robot, fj.control.MotorPD(robot, [400.0, 40.0]), [0.1, 0.2, 0.3], 0.01)
        >>> fj.reports.write_report(run, "run.html", python=open(__file__).read())  # doctest: +SKIP
    """
    place, found = check_report_path(path), content_of(result)
    found = found._replace(
        title=title or found.title,
        shown=[*tables, *found.shown],
        figures=found.figures if figures is None else {caption: drawn(x) for caption, x in figures.items()},
        settings=found.settings if settings is None else settings,
    )
    text = report_page(found, warnings, command, python)
    with replacing(place) as file:
        file.write(text.encode())


def check_report_path(path: str | os.PathLike[str]) -> Path:
    """The path as a Path; raises InputError if no report can be written there."""
    return check_path(path, (".html",), "a report")


def report_page(found: Content, warnings: Iterable[object] | None = None, command: str = "", python: str = "") -> str:
    """The page as text; the arguments are those of `write_report`."""
    pictures = [html.picture(png(draw()), caption) for caption, draw in found.figures.items()]  # drawing may warn
    parts = [warning_part(warnings), *map(shown_part, found.shown), *pictures]
    parts += [*map(shown_part, found.below)]
    if found.robot is not None:
        parts.append(robot_section(found.robot))
    if found.settings:
        rows = [(name, setting_text(x)) for name, x in found.settings.items()]
        parts.append(html.section("Settings", html.table(rows)))
    if command:
        text = html.code(command) + html.paragraphs(FOLDER_NOTE, note=True)
        parts.append(html.section("Command that repeats it", text))
    if python:
        parts.append(html.section("Python that repeats it", html.code(python)))
    parts.append(html.section("Provenance", html.table(provenance_rows(found.robot))))
    return html.page(found.title, parts)


def shown_part(part: str | Table) -> str:
    """A line or a table as HTML."""
    if isinstance(part, str):
        return html.paragraphs(part)
    table = html.table(part.rows, part.headings, numbers=part.numbers) + html.paragraphs(part.note, note=True)
    return html.section(capitalized(part.title), table) if part.title else table


def warning_part(warnings: Iterable[object] | None) -> str:
    """The warnings that were shown; nothing if they are not known."""
    if warnings is None:
        return ""
    texts = [str(getattr(x, "message", x)) for x in warnings]
    return (
        html.alert(html.paragraphs("Warnings") + html.bullets(texts))
        if texts
        else html.paragraphs("No warnings.", note=True)
    )


def setting_text(value: object) -> str:
    """A setting as text."""
    return "none" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def capitalized(text: str) -> str:
    """The text with a capital first letter, unless it starts with a name and a colon."""
    return text if text.partition(" ")[0].endswith(":") else text[:1].upper() + text[1:]


def drawn(figure: Picture) -> Callable[[], Figure | bytes]:
    """A function that returns the figure."""
    return figure if callable(figure) else lambda: figure


def png(figure: Figure | bytes) -> bytes:
    """A figure as a PNG picture."""
    if isinstance(figure, bytes):
        return figure
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=RESOLUTION, bbox_inches="tight")
    return file.getvalue()
