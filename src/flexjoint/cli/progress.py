"""How far a command is: a bar on a terminal, for as long as the work lasts; elsewhere nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .app import CURRENT, Settings
from .terminal_text import one_line

if TYPE_CHECKING:
    from rich.progress import Progress


class Silent:
    """No bar, with what commands use of one."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def add_task(self, description: str, total: float | None = None) -> Any:
        return 0

    def advance(self, task: Any, advance: float = 1) -> None:
        pass

    def update(self, task: Any, description: str) -> None:
        pass


def progress_bar() -> Progress | Silent:
    shown = sys.stderr.isatty() and not CURRENT.get(Settings()).quiet
    return terminal_bar() if shown else Silent()


def terminal_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TimeRemainingColumn
    from rich.text import Text

    class Description(ProgressColumn):
        """What is done, which may hold names of files: no markup, no control characters."""

        def render(self, task: Any) -> Text:
            return Text(one_line(task.description))

    columns = (Description(), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
