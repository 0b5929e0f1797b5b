"""What a command is doing: lines and bars on a terminal, for as long as the work lasts; elsewhere nothing.

Commands open a bar (`progress_bar`) for work that they know themselves.  What the library reports by its logger
(flexjoint/progress.py), such as the compilation of a kernel, is shown in that bar, or in a line of its own.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..progress import ENDED, LOGGER
from .app import CURRENT, CommonOptions
from .terminal_text import WIPE, one_line

if TYPE_CHECKING:
    from rich.progress import Progress


class Silent:
    """No progress bar, with the methods that commands use."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def add_task(self, description: str, total: float | None = None) -> Any:
        """Do nothing."""
        return 0

    def advance(self, task: Any, advance: float = 1) -> None:
        """Do nothing."""

    def update(self, task: Any, description: str) -> None:
        """Do nothing."""


OPEN: list[Any] = []  # bars on the terminal


def shown(options: CommonOptions) -> bool:
    """Whether somebody looks: stderr is a terminal, and the command is not to be quiet."""
    return sys.stderr.isatty() and not options.quiet


def progress_bar() -> Progress | Silent:
    """A progress bar on standard error if that is a terminal and --quiet is not given."""
    return terminal_bar() if shown(CURRENT.get(CommonOptions())) else Silent()


def terminal_bar() -> Progress:
    """A progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TimeRemainingColumn
    from rich.text import Text

    class Description(ProgressColumn):
        """Text of a task without markup and control characters, since it may have names of files."""

        def render(self, task: Any) -> Text:
            """The text of a task."""
            return Text(one_line(task.description))

    class Bar(Progress):
        """A bar that reports of the library find while it is open."""

        def start(self) -> None:
            OPEN.append(self)
            super().start()

        def stop(self) -> None:
            if self in OPEN:
                OPEN.remove(self)
            super().stop()

    columns = (Description(), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Bar(*columns, console=Console(stderr=True), transient=True)


class Reports(logging.Handler):
    """Shows what the library reports: a row of the bar that is open, or a line, until the activity ends."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.rows: dict[str, tuple[Any, Any]] = {}  # bar and task of each activity

    def emit(self, record: logging.LogRecord) -> None:
        message, ended = record.getMessage(), getattr(record, ENDED, None)
        if ended in self.rows:
            bar, task = self.rows.pop(ended)
            bar.remove_task(task)
        elif ended is None and OPEN:
            what = message.split(":")[0]  # "simulating arm: 12 %" goes on in its row
            if what not in self.rows:
                self.rows[what] = OPEN[-1], OPEN[-1].add_task(message, total=None)
            bar, task = self.rows[what]
            bar.update(task, description=message)
        elif not OPEN:
            self.line("" if ended else one_line(message))

    def line(self, text: str) -> None:
        """Put a text in the place of the last one."""
        sys.stderr.write(WIPE + text)
        sys.stderr.flush()


@contextmanager
def reports(options: CommonOptions) -> Iterator[None]:
    """Shows reports of the library while a command works, if somebody looks."""
    if not shown(options):
        yield
        return
    handler, logger = Reports(), logging.getLogger(LOGGER)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        handler.line("")
