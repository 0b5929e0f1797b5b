"""Progress bar on a terminal while a command runs; nothing elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .app import CURRENT, CommonOptions
from .terminal_text import one_line

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


def progress_bar() -> Progress | Silent:
    """A progress bar on standard error if that is a terminal and --quiet is not given."""
    shown = sys.stderr.isatty() and not CURRENT.get(CommonOptions()).quiet
    return terminal_bar() if shown else Silent()


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

    columns = (Description(), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
