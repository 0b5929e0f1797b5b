"""Logs of robots: reading them from files, checking them, delays between their channels."""

from ..boundary import public
from .check import check_log as check_log
from .delays import Delay as Delay, estimate_delays as estimate_delays, without_delays as without_delays
from .log import Log as Log
from .reading import read_log as read_log

public(__name__)
