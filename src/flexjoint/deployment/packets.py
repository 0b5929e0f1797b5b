"""The packets between a simulated robot and its controller: two kinds, little-endian, with a checksum.

    state    "FJS1"  n: u16  m: u16  sequence: u32  t: f64  q[n] v[n] theta[m] theta_v[m] tau_e[n]: f64  crc: u32
    command  "FJC1"  m: u16  0: u16  sequence: u32  tau[m]: f64                                          crc: u32

n joints, m motors.  A command carries the number of the state that it answers; GREETING, before the first state, says
where the controller is.  The checksum is CRC-32 (zlib) of all bytes before it.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

import numpy as np

from ..types import FloatArray

GREETING = 0xFFFFFFFF
STATE, COMMAND = b"FJS1", b"FJC1"
HEAD = struct.Struct("<4sHHI")
CHECK = struct.Struct("<I")
LARGEST_TORQUE = 1e9  # Nm or N; beyond it a command is malformed


class Command(NamedTuple):
    """A command: the number of the state that it answers, and the torques (m,)."""

    sequence: int
    tau: FloatArray


def state_packet(sequence: int, t: float, columns: FloatArray, n: int, m: int) -> bytes:
    """The bytes of a state; `columns` are q, v, theta, theta_v and tau_e in one array."""
    body = HEAD.pack(STATE, n, m, sequence & 0xFFFFFFFF) + struct.pack("<d", t) + columns.astype("<f8").tobytes()
    return body + CHECK.pack(zlib.crc32(body))


def command_packet(sequence: int, tau: FloatArray) -> bytes:
    """The bytes of a command."""
    numbers = np.asarray(tau, dtype="<f8")
    body = HEAD.pack(COMMAND, numbers.size, 0, sequence & 0xFFFFFFFF) + numbers.tobytes()
    return body + CHECK.pack(zlib.crc32(body))


def read_command(data: bytes, m: int) -> Command | None:
    """A command for m motors; None if the bytes are not one."""
    if len(data) != HEAD.size + 8 * m + CHECK.size:
        return None
    magic, motors, zero, sequence = HEAD.unpack_from(data)
    if magic != COMMAND or motors != m or zero or CHECK.unpack_from(data, len(data) - 4)[0] != zlib.crc32(data[:-4]):
        return None
    tau = np.frombuffer(data, "<f8", m, HEAD.size).astype(float)
    return Command(sequence, tau) if np.all(np.abs(tau) <= LARGEST_TORQUE) else None


def read_state(data: bytes, n: int, m: int) -> tuple[int, float, FloatArray] | None:
    """Number, time and numbers of a state of n joints and m motors; None if the bytes are not one."""
    count = 3 * n + 2 * m
    if len(data) != HEAD.size + 8 * (1 + count) + CHECK.size:
        return None
    magic, joints, motors, sequence = HEAD.unpack_from(data)
    if (magic, joints, motors) != (STATE, n, m) or CHECK.unpack_from(data, len(data) - 4)[0] != zlib.crc32(data[:-4]):
        return None
    numbers = np.frombuffer(data, "<f8", 1 + count, HEAD.size).astype(float)
    return sequence, float(numbers[0]), numbers[1:]
