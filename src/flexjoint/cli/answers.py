"""What commands answer: for people on the screen, as JSON for programs, or as a stream on standard output."""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import typer

from .tables import Table, lines, screen_width
from .text import harmless

PIPE_CLOSED = 141  # exit code, as a shell reports of a program whose reader went away
STREAM = Path("-")  # as an output file: standard output


@dataclass(frozen=True)
class Answer:
    """What a command found.

    `shown`: lines and tables for people; `data`: the same for programs, in SI units; `files`: what was written, if not
    to standard output; `code`: the exit code; `trouble`: what went wrong, one line on standard error.
    """

    shown: Sequence[str | Table]
    data: Mapping[str, Any]
    files: Sequence[Path] = ()
    code: int = 0
    trouble: str = ""

    def to_json(self) -> str:
        import json

        files = {"files": [str(x) for x in self.files]} if self.files else {}
        return json.dumps(plain({**self.data, **files}), indent=2, allow_nan=False)

    def to_text(self, width: float) -> str:
        found: list[str] = []
        for part in self.shown:
            if isinstance(part, Table):
                found += ["", *lines(part, width), ""]
            else:
                found.append(harmless(part, keep="\n\t"))
        found += [harmless(f"wrote {path}") for path in self.files]
        while found and not found[-1]:
            found.pop()
        return "\n".join(x for k, x in enumerate(found) if x or found[k - 1 : k] != [""])


def plain(x: Any) -> Any:
    """Lists, objects, numbers and texts; null for a number that is not finite."""
    if isinstance(x, Mapping):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [plain(value) for value in x]
    if hasattr(x, "tolist"):  # of NumPy
        return plain(x.tolist())
    if isinstance(x, float) and not math.isfinite(x):
        return None
    return str(x) if isinstance(x, Path) else x


def give(answer: Answer, as_json: bool, streamed: bool) -> None:
    """Print an answer: on standard output, or on standard error where that is taken by data."""
    if as_json:
        with to_a_reader():
            typer.echo(answer.to_json())
    elif streamed:
        typer.echo(answer.to_text(screen_width(sys.stderr)), err=True)
    else:
        with to_a_reader():
            typer.echo(answer.to_text(screen_width(sys.stdout)))


# Standard output --------------------------------------------------------------------------------------------------


@contextmanager
def to_a_reader() -> Iterator[None]:
    """Printing ends without a word, and with the exit code of other programs, if nobody reads any more."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        with suppress(OSError, ValueError):  # nothing is left to be flushed at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(PIPE_CLOSED) from None


class Terminal(io.RawIOBase):
    """A terminal as a binary file: data are shown, never obeyed."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        typer.echo(harmless(bytes(data).decode(errors="backslashreplace"), keep="\n\t"), nl=False)
        return len(data)


@contextmanager
def standard_output() -> Iterator[IO[bytes]]:
    """Standard output as a binary file."""
    with to_a_reader():
        sys.stdout.flush()
        yield Terminal() if sys.stdout.isatty() else typer.get_binary_stream("stdout")  # type: ignore[misc]


def send_folder(write: Callable[[Path], Sequence[Path]]) -> None:
    """What a function writes to a folder as a tar archive on standard output, always the same bytes for it."""
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
