"""Logs of robots: reading them from files, checking them, delays between their channels."""

from .log import Log as Log
from .reading import read_log as read_log
