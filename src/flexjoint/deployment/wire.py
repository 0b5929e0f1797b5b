"""The UDP channel between a served robot and its controller."""

from __future__ import annotations

import ipaddress
import select
import socket
import time
from typing import Any

import numpy as np

from ..checks import whole
from ..errors import InputError, shown
from .packets import GREETING, read_command
from .served import Served

SILENCE = 1.0  # s without a command after which another address may greet and take over
DRAINED = 256  # packets read at most per call, so that a flood does not delay a period


class Wire:
    """The channel to one controller; counts what it ignores."""

    def __init__(self, channel: socket.socket, motors: int, loss: float, random: np.random.Generator) -> None:
        channel.setblocking(False)
        self.channel, self.motors, self.loss, self.random = channel, motors, loss, random
        self.partner: Any = None
        self.heard = 0.0  # time of the partner's last packet
        self.found = Served()

    def dropped(self) -> bool:
        """Whether the next packet is dropped on purpose."""
        if self.loss and self.random.random() < self.loss:
            self.found.lost += 1
            return True
        return False

    def send(self, data: bytes) -> None:
        """Send a packet to the controller; it is lost if the network is full or unreachable."""
        if not self.dropped():
            try:
                self.channel.sendto(data, self.partner)
            except OSError:
                self.found.lost += 1

    def receive(self, timeout: float) -> Any:
        """The next command of the controller; None after the time, s, or after `DRAINED` packets that are none."""
        end = time.perf_counter() + timeout
        for _ in range(DRAINED):
            # select counts microseconds; the time-out of a socket counts milliseconds, and made periods 0.4 ms late
            left = max(end - time.perf_counter(), 0.0)
            if not select.select([self.channel], [], [], left)[0]:
                return None
            try:
                data, address = self.channel.recvfrom(65536)
            except OSError:  # an answer that the controller's port is closed
                continue
            command, now = read_command(data, self.motors), time.perf_counter()
            replaces = command is not None and command.sequence == GREETING and now - self.heard > SILENCE
            if self.partner is not None and address != self.partner and not replaces:
                self.found.foreign += 1
            elif command is None:
                self.found.malformed += 1
            elif not self.dropped():
                self.partner, self.heard = address, now
                return command
        return None

    def wait_for_greeting(self) -> None:
        """Wait for the first packet of a controller, which tells its address; Ctrl-C ends the wait."""
        while True:
            command = self.receive(0.2)
            if command is not None and command.sequence == GREETING:
                return
            if command is not None:
                self.partner, self.found.replayed = None, self.found.replayed + 1


def listening(host: str, port: int) -> socket.socket:
    """A bound UDP socket; any address of this machine may be given, 127.0.0.1 keeps it local."""
    whole("serve", "port", port, 0, 65535)
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    except ValueError:
        raise InputError(f"serve: host is {shown(host)}; give an address such as 127.0.0.1") from None
    channel = socket.socket(family, socket.SOCK_DGRAM)
    try:
        channel.bind((host, port))
    except OSError as error:
        channel.close()
        raise InputError(f"serve: port {port} of {host} cannot be used: {error.strerror}; give another one") from None
    return channel
