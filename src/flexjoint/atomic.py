"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to, which replaces `path` at the end; after an error it is removed and `path` is as it was.

    What a link points to is replaced, not the link; devices and pipes are written to as they are.
    """
    named, target = Path(path), Path(os.path.realpath(path))
    part = target.with_name(f".{target.name[:40]}.{os.getpid()}.{token_hex(4)}.part")
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            with open(target, "wb") as file:
                yield file
            return
        with open(part, "wb") as file:
            yield file
        if target.exists():
            os.chmod(part, target.stat().st_mode & 0o7777)
        os.replace(part, target)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(named)) from None
    finally:
        part.unlink(missing_ok=True)
