"""Detection of collisions and actuator faults in logs: reading logs, learning thresholds, finding events."""

from ..boundary import public
from ..logs import Log as Log, read_log as read_log
from .detection import (
    Blindness as Blindness,
    Detection as Detection,
    DetectionReport as DetectionReport,
    Event as Event,
    detect as detect,
)

public(__name__)
