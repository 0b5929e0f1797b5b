"""Checks of a robot that was read: what is legal but probably wrong, by family of rules."""

from ...findings import Finding as Finding, Level as Level
from .check import check_robot as check_robot
