"""Messages of MCAP files, the bags of ROS 2, as tables of numbers: one table per topic.

A `sensor_msgs/JointState` gives columns such as `joint1.position`; any other message gives its numbers by path, such as
`tau_J[0]`.  Messages are CDR with a ROS 2 schema, or JSON.  Sizes are checked before anything is unpacked.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

import numpy as np

from ..errors import InputError, quoted, warn
from ..file_limits import require
from ..formats.npz import FEWER
from ..types import FloatArray

MAX_MESSAGE = 65_536  # bytes; larger ones are images, point clouds and the like
MAX_SCHEMA = 200_000  # bytes
MAX_ENTRIES = 128  # of an array in a message
SMALL = 10_000_000  # bytes: a file may unpack to so many, however small it is
MAX_DEPTH = 8
JOINT_FIELDS = ("position", "velocity", "effort")


@dataclass
class TopicTable:
    """Numbers of the messages of one topic.

    Args:
        stamps: Time of each message, ns.
        columns: Rows and values of each column, by header.
    """

    stamps: array[int] = field(default_factory=lambda: array("q"))
    columns: dict[str, tuple[array[int], array[float]]] = field(default_factory=dict)

    def add(self, stamp: int, numbers: Mapping[str, float], place: str) -> None:
        """Add the numbers of a message, by header."""
        row = len(self.stamps)
        self.stamps.append(stamp)
        for header, value in numbers.items():
            rows, values = self.columns.setdefault(header, (array("q"), array("d")))
            rows.append(row)
            values.append(value)
        require("packed_columns", len(self.columns), place, cure=FEWER)
        require("packed_numbers", len(self.stamps) * len(self.columns), place, cure=FEWER)

    def column(self, header: str) -> FloatArray:
        """A column, (messages,), with NaN where a message lacks it."""
        found = np.full(len(self.stamps), np.nan)
        rows, values = self.columns[header]
        found[rows] = values
        return found

    @property
    def times(self) -> FloatArray:
        """Times since the first message, (messages,), s."""
        stamps = np.array(self.stamps)
        return 1e-9 * (stamps - stamps[0]).astype(float)


def merged(tables: Mapping[str, TopicTable]) -> TopicTable:
    """One table of several topics, with a row per stamp, in the order of time; headers begin with the topic."""
    stamps = np.concatenate([np.array(table.stamps) for table in tables.values()])
    found, rows = np.unique(stamps, return_inverse=True)
    result, first = TopicTable(array("q", found.tobytes())), 0
    for topic, table in tables.items():
        own = rows[first : first + len(table.stamps)]
        first += len(table.stamps)
        for header, (places, values) in table.columns.items():
            result.columns[f"{topic}/{header}"] = (array("q", own[np.array(places)].tobytes()), values)
    return result


def mcap_tables(data: bytes, place: str) -> dict[str, TopicTable]:
    """Tables of all topics with messages that can be decoded.

    Args:
        data: Content of the file.
        place: Name of the file, for messages.

    Raises:
        InputError: The packages for MCAP files are not installed, or the file is damaged or too large.
    """
    try:
        from mcap.exceptions import EndOfFile, RecordLengthLimitExceeded
        from mcap.records import Channel, Message, Schema
        from mcap_ros2.decoder import DecoderFactory
    except ImportError:
        raise InputError(
            f"{place}: MCAP files need mcap and mcap-ros2-support: pip install 'flexjoint[mcap]'"
        ) from None
    schemas: dict[int, Any] = {}
    channels: dict[int, Any] = {}
    decoders: dict[int, Callable[[bytes], Any] | None] = {}
    factory, found = DecoderFactory(), dict[str, TopicTable]()
    messages = used = 0
    try:
        for record in records(data, place):
            if isinstance(record, Schema) and len(record.data) <= MAX_SCHEMA:
                schemas[record.id] = record
            elif isinstance(record, Channel):
                channels[record.id] = record
            elif isinstance(record, Message) and record.channel_id in channels and len(record.data) <= MAX_MESSAGE:
                channel = channels[record.channel_id]
                if channel.id not in decoders:
                    decoders[channel.id] = decoder_of(channel, schemas.get(channel.schema_id), factory)
                if (decode := decoders[channel.id]) is not None:
                    table = found.setdefault(channel.topic, TopicTable())
                    messages, used = messages + 1, used + add_message(table, decode(record.data), record, place)
                    require("mcap_messages", messages, place, cure=FEWER)
                    require("packed_numbers", used, place, cure=FEWER)
    except InputError:
        raise
    except (EndOfFile, RecordLengthLimitExceeded):  # of a recorder that was stopped
        if not any(table.stamps for table in found.values()):
            raise InputError(f"{place}: the file ends before its first message") from None
        warn(f"{place}: the file ends early, so its last messages may be missing")
    except Exception as error:  # a damaged file raises any error in its reader
        raise InputError(f"{place}: not an MCAP file, or a damaged one: {quoted(error)}") from None
    return {topic: table for topic, table in found.items() if table.columns}


def records(data: bytes, place: str) -> Iterator[Any]:
    """Schemas, channels and messages; a chunk is unpacked only up to the size that it states."""
    from mcap.records import Chunk
    from mcap.stream_reader import StreamReader, breakup_chunk

    unpacked = 0
    for record in StreamReader(BytesIO(data), emit_chunks=True, record_size_limit=len(data)).records:
        if not isinstance(record, Chunk):
            yield record
            continue
        size = max(record.uncompressed_size, len(record.data))
        unpacked += size
        require("mcap_chunk", size, place, cure="record with smaller chunks")
        require("unpacked_bytes", unpacked, place, cure=FEWER)
        if unpacked > SMALL:
            require("mcap_expansion", unpacked / len(data), place, cure="record it anew")
        yield from breakup_chunk(replace(record, compression="", data=unpack(record)))


def unpack(chunk: Any) -> bytes:
    """The records of a chunk, no more bytes than it states."""
    if chunk.compression == "zstd":
        import zstandard

        with zstandard.ZstdDecompressor().stream_reader(chunk.data) as stream:
            return bytes(stream.read(chunk.uncompressed_size))
    if chunk.compression == "lz4":
        from lz4.frame import LZ4FrameDecompressor

        return bytes(LZ4FrameDecompressor().decompress(chunk.data, max_length=chunk.uncompressed_size))
    return bytes(chunk.data)


def decoder_of(channel: Any, schema: Any, factory: Any) -> Callable[[bytes], Any] | None:
    """Function from the bytes of a message to its fields; None for an encoding that is not read."""
    if channel.message_encoding == "json":
        return json.loads
    if schema is None:
        return None
    try:
        with redirect_stdout(None), redirect_stderr(None):  # the parser prints a schema that it does not take
            found: Callable[[bytes], Any] | None = factory.decoder_for(channel.message_encoding, schema)
    except Exception:
        return None
    return found


def add_message(table: TopicTable, message: Any, record: Any, place: str) -> int:
    """Add a message to the table of its topic; return how many numbers it has."""
    fields = dict(fields_of(message))
    stamp = stamp_of(fields.pop("header", None)) or record.log_time
    names = fields.get("name")
    if isinstance(names, list) and names and all(isinstance(x, str) for x in names):
        series = {what: fields[what] for what in JOINT_FIELDS if is_array(fields.get(what))}
        numbers = {f"{name}.{what}": float(x) for what, values in series.items() for name, x in zip(names, values)}
    else:
        numbers = dict(flat("", fields, 0))
    if numbers:
        table.add(stamp, numbers, place)
    return len(numbers)


def fields_of(message: Any) -> Mapping[str, Any]:
    """Fields of a decoded message by name."""
    if isinstance(message, dict):
        return message
    names = getattr(message, "__slots__", None) or getattr(message, "__dict__", {})
    return {name: getattr(message, name) for name in names if not name.startswith("_")}


def stamp_of(header: Any) -> int:
    """Time in the header of a message, ns; 0 if there is none."""
    stamp = fields_of(fields_of(header or {}).get("stamp") or {})
    seconds, nanoseconds = stamp.get("sec", 0), stamp.get("nanosec", stamp.get("nsec", 0))
    return seconds * 1_000_000_000 + nanoseconds if isinstance(seconds, int) and isinstance(nanoseconds, int) else 0


def is_array(value: Any) -> bool:
    """Whether a field is an array of at most MAX_ENTRIES numbers."""
    if not hasattr(value, "__len__") or isinstance(value, str | bytes | dict) or len(value) > MAX_ENTRIES:
        return False
    return all(isinstance(x, int | float) for x in value)


def flat(path: str, value: Any, depth: int) -> Iterator[tuple[str, float]]:
    """The numbers in a message with their paths, such as `state.q[0]`."""
    if isinstance(value, int | float):
        yield path, float(value) if abs(value) < 1e300 else math.nan
    elif is_array(value):
        yield from ((f"{path}[{k}]", float(x)) for k, x in enumerate(value))
    elif depth < MAX_DEPTH and not isinstance(value, str | bytes | list | tuple):
        for name, inner in fields_of(value).items():
            yield from flat(f"{path}.{name}" if path else str(name), inner, depth + 1)
