"""Controllers, one file a law: frozen parameters, (state, reference, measurement) -> (state, motor torque)."""

from .adaptive import AdaptiveControl, AdaptiveState
from .passivity import LinkState, PassivityControl

__all__ = [
    "AdaptiveControl",
    "AdaptiveState",
    "LinkState",
    "PassivityControl",
]
