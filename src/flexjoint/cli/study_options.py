"""Options of Monte-Carlo studies: where they run, where they are stored, and which histories are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from .standard_output import STREAM

Workers = Annotated[int | None, typer.Option(help="Worker processes for --samples: a Dask cluster on this machine.")]
ClusterAddress = Annotated[
    str | None, typer.Option("--cluster", help="Dask scheduler for --samples, such as tcp://10.0.0.5:8786.")
]
Kept = Annotated[str | None, typer.Option(help="Histories to keep in the folder of -o: worst=20.")]
SampleNumber = Annotated[int | None, typer.Option(help="Simulate this sample of a study again, as a single run.")]
URL = re.compile(r"^(\w[\w+.-]+):/(?!/)")  # a Path has one slash where a URL has two


class StudyOptions(NamedTuple):
    """How a study runs: the options above, as they were given."""

    workers: int | None
    cluster: str | None
    keep: str | None

    def check(self, samples: int | None, threads: int | None, output: Path | None) -> None:
        """Raise InputError if the options contradict each other."""
        from ..errors import InputError

        if samples is None and any(x is not None for x in self):
            raise InputError("--workers, --cluster and --keep belong to --samples")
        if sum(x is not None for x in (self.workers, self.cluster, threads)) > 1:
            raise InputError("--workers, --cluster and --threads exclude each other; give one of them")
        if self.keep is not None and (output is None or output == STREAM):
            raise InputError("--keep writes into the folder of -o; give -o FOLDER")

    @property
    def keep_worst(self) -> int:
        """Number of histories to keep."""
        from ..errors import InputError

        if self.keep is None:
            return 0
        name, _, number = self.keep.partition("=")
        if name != "worst" or not number.isdecimal() or not int(number):
            raise InputError(f"--keep is {self.keep!r}; give worst and a number, such as worst=20")
        return int(number)

    @contextmanager
    def executor(self) -> Iterator[Any]:
        """The executor, for as long as the study runs; None for threads."""
        from ..studies import cluster, local_cluster

        if self.workers is None and self.cluster is None:
            yield None
            return
        with cluster(self.cluster) if self.cluster is not None else local_cluster(self.workers) as found:
            yield found


def study_folder(output: Path | None) -> str | Path | None:
    """The folder or URL of a study; None without one, or if samples go to standard output."""
    if output is None or output == STREAM:
        return None
    text = URL.sub(r"\1://", str(output))
    return text if "://" in text else output
