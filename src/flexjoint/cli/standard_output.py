"""Standard output as a destination: for text, for binary data, for a folder as a tar archive."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import typer

from .terminal_text import harmless

PIPE_CLOSED = 141  # exit code, as a shell reports a closed pipe
STREAM = Path("-")  # output file that means standard output


@contextmanager
def to_a_reader() -> Iterator[None]:
    """Exit silently with code 141 if the reader of standard output has closed it."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        with suppress(OSError, ValueError):  # so that nothing is flushed at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(PIPE_CLOSED) from None


class Terminal(io.RawIOBase):
    """A terminal as a binary file; control characters are shown as escapes."""

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, data: Any) -> int:
        """Print bytes as text."""
        typer.echo(harmless(bytes(data).decode(errors="backslashreplace"), keep="\n\t"), nl=False)
        return len(data)


@contextmanager
def standard_output() -> Iterator[IO[bytes]]:
    """Standard output as a binary file."""
    with to_a_reader():
        sys.stdout.flush()
        yield Terminal() if sys.stdout.isatty() else typer.get_binary_stream("stdout")  # type: ignore[misc]


def send_csv(table: Any) -> None:
    """Send a table as CSV to standard output."""
    from ..results import write_csv

    with standard_output() as file:
        write_csv(table, file)


def send_folder(write: Callable[[Path], Sequence[Path]]) -> None:
    """Send the files that a function writes to a folder as a tar archive to standard output, without dates."""
    import tarfile
    from tempfile import TemporaryDirectory

    from ..errors import InputError

    if sys.stdout.isatty():
        raise InputError("-o - sends a folder as a tar archive; add '| tar x', or give the name of a folder")
    with TemporaryDirectory() as place:
        paths = write(Path(place))
        with standard_output() as file, tarfile.open(fileobj=file, mode="w|") as archive:
            for path in paths:
                entry = tarfile.TarInfo(str(path.relative_to(place)))
                entry.size = path.stat().st_size
                with path.open("rb") as content:
                    archive.addfile(entry, content)
