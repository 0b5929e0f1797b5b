"""The store of a study: settings, and one Parquet file per block of samples, from which any number of clients resume.

    settings.json                         all that the samples depend on, the size of blocks, the columns
    robot.toml                            the robot of a Monte-Carlo study, to read it without the script
    blocks/block-000000000000.parquet     samples 0, 1, ...; the number is that of the first sample
    worst/sample-000000000017.parquet     histories of the worst samples, if they are asked for

A store belongs to one study.  The first client creates the settings in one step; others join if theirs are the same,
and take the size of blocks from there.  A block is a function of the settings and its number, so that it does not
matter who computes it, or how often.  A whole block replaces a file, a shorter one, at the end of a smaller study, is
only stored where there is none: no sample is lost to a client that asks for fewer.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import InputError, warn
from .block_files import Block, decoded, encoded, pyarrow_of
from .places import Place, place_of

FORMAT = 2
SETTINGS = "settings.json"
BLOCKS = "blocks"
NAME = re.compile(r"block-(\d{12})\.parquet")
PATIENCE = 2.0  # s to wait for another process that writes settings on a file system without hard links
RECHECK = 1.0  # s after which the settings are read again before a block is stored
SHOWN = 200  # characters of a setting in a message
DIFFERENCES = 3  # in a message
FOLLOW = ("draws", "gains", "memory", "digest")  # mostly follow from other settings: shown only if nothing else differs


class Store:
    """Blocks of a study by the number of their first sample.

    Args:
        place: A folder or URL; None for a store that keeps nothing.
        settings: Of the study, as JSON can hold them.
        layout: What is stored beside them: "block", the number of samples per block; "columns", units by name of
            column; and what else a reader needs.  Another client may have chosen another size of blocks: `block` is the
            one to use.

    Raises:
        InputError: The place belongs to another study, or holds other files.
        OSError: Nothing can be written there.
    """

    def __init__(
        self, place: str | os.PathLike[str] | None, settings: Mapping[str, Any], layout: Mapping[str, Any]
    ) -> None:
        self.place: Place | None = None if place is None else place_of(place)
        self.settings, self.layout = json.loads(json.dumps(settings)), dict(layout)
        self.block = int(layout["block"])
        self.digest = hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()
        self.checked = -float("inf")
        if self.place is not None:
            pyarrow_of(self.place)
            self.claim(self.place)

    def claim(self, place: Place) -> None:
        """Create the settings if there are none, and take the size of blocks from them."""
        if not place.exists(SETTINGS):
            if foreign := [x for x in place.names() if not x.startswith(".")]:
                raise InputError(
                    f"{place} exists and is no folder of samples: it holds {foreign[0][:80]!r}; give another, or an "
                    "empty one"
                )
            whole = {"format": FORMAT, **self.layout, "settings": self.settings}
            place.create(SETTINGS, (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode())
        self.check_settings()
        strangers = [x for x in place.names(BLOCKS) if not x.startswith(".") and not NAME.fullmatch(x)]
        if strangers:
            warn(
                f"{place}/{BLOCKS}/{strangers[0][:80]} is no block of samples; it is left alone, but programs that "
                "read the whole folder may fail"
            )

    def firsts(self) -> list[int]:
        """First samples of the blocks that have a file, in order."""
        names = self.place.names(BLOCKS) if self.place is not None else []
        found = (NAME.fullmatch(x) for x in names)
        return [int(x[1]) for x in found if x]

    def has(self, first: int) -> bool:
        """Whether a block has a file."""
        return self.place is not None and self.place.exists(name_of(first))

    def load(self, first: int, rows: int | None = None) -> Block | None:
        """The first `rows` samples of a block, default all, if stored, undamaged and of this study; else None."""
        if self.place is None:
            return None
        where = f"{self.place}/{name_of(first)}"
        try:
            found = decoded(self.place.read(name_of(first)))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), where) from None
        if found is None:
            warn(f"{where} is damaged; its samples are computed again")
            return None
        study, block = found
        if study != self.digest:
            self.check_settings()  # another study may have started here meanwhile
            warn(f"{where} holds samples of another study, with other settings; they are computed again")
            return None
        numbers = next(iter(block.values()))
        if list(block) != list(self.layout["columns"]) or int(numbers[0]) != first or numbers.size > self.block:
            warn(f"{where} is damaged; its samples are computed again")
            return None
        return {name: x[:rows] for name, x in block.items()} if numbers.size >= (rows or 0) else None

    def save(self, first: int, block: Block) -> None:
        """Store a block; does nothing without a place."""
        if self.place is None:
            return
        if time.monotonic() - self.checked > RECHECK:
            self.check_settings()
        content = encoded(block, self.layout["columns"], self.digest)
        size = next(iter(block.values())).size
        known = None if size == self.block or not self.has(first) else self.load(first, size)
        if size < self.block and known is None and not self.has(first):
            self.place.create(name_of(first), content)
        elif known is None:
            self.place.replace(name_of(first), content)

    def check_settings(self) -> None:
        """Raise InputError if the place has other settings, with the differences."""
        assert self.place is not None
        found = read_settings(self.place)
        everything = dict(differences(found["settings"], self.settings))
        telling = [x for name, x in everything.items() if name not in FOLLOW and not name.endswith(".digest")]
        differing = telling or [*everything.values()]
        if differing:
            more = f", and {len(differing) - DIFFERENCES} more" if len(differing) > DIFFERENCES else ""
            raise InputError(
                f"{self.place} holds samples with other settings: {'; '.join(differing[:DIFFERENCES])}{more}; give "
                "another folder, or delete this one"
            )
        self.block, self.checked = int(found["block"]), time.monotonic()


def name_of(first: int) -> str:
    """File of the block whose first sample has this number."""
    return f"{BLOCKS}/block-{first:012d}.parquet"


def read_settings(place: Place) -> dict[str, Any]:
    """Content of the file of settings; waits if another process is writing it.

    Raises:
        InputError: It is missing or damaged, or of a version of flexjoint that stored samples in another format.
    """
    end = time.monotonic() + PATIENCE
    content = b""
    while True:
        try:
            content = place.read(SETTINGS)
            found = dict(json.loads(content))
            break
        except OSError as error:
            why = error.strerror or error
            raise InputError(f"{place}/{SETTINGS} cannot be read ({why}); give another folder") from None
        except (ValueError, TypeError, RecursionError):
            if time.monotonic() > end or content:
                raise InputError(f"{place}/{SETTINGS} cannot be read; give another folder") from None
        time.sleep(0.02)
    if found.get("format") != FORMAT or not isinstance(found.get("settings"), dict) or "block" not in found:
        raise InputError(
            f"{place} holds samples in a format of another version of flexjoint, which cannot be continued; give "
            "another folder (numpy.load reads the files samples-*.npz of version 0.1)"
        )
    return found


def differences(old: Any, new: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Name and description of each difference between two settings; of a part its own values before those below."""
    if isinstance(old, dict) and isinstance(new, dict):
        below = {key for x in (old, new) for key, value in x.items() if name and isinstance(value, dict)}
        for key in sorted({*old, *new}, key=lambda key: (key in below, key)):
            yield from differences(old.get(key), new.get(key), f"{name}.{key}" if name else key)
    elif old != new:
        yield name, f"{name} was {shown(old)}, now it is {shown(new)}"


def shown(value: Any) -> str:
    """A setting as text of limited length."""
    text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
