"""Detection of collisions and faults in logs: reading logs, calibrating thresholds, finding events."""

from .detection import Blindness, Detection, Detections, Event, detect
from .logs import Log, read_log

__all__ = ["Blindness", "Detection", "Detections", "Event", "Log", "detect", "read_log"]
