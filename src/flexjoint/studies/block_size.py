"""How many samples a block has: about a second of work, and many blocks per study."""

from __future__ import annotations

from ..control.base import Controller
from .loop_setup import LoopSetup

SECOND = 1.0  # s of work per block: tasks cost milliseconds, and a lost worker loses no more
COMPILED = 0.2e-6  # s per period and joint: 1.3 µs for the 7R LWR under feedforward PD (docs/studies.md)
PYTHON = 15e-6  # s per period of a law in Python
BLOCKS = 64  # of a study at least, so that a few workers end at about the same time
MOST = 2**14  # samples: a file of some megabytes


def block_size(loop: LoopSetup, samples: int) -> int:
    """Samples per block: a multiple of those simulated at once.

    It depends on the study and its number of samples only, not on the machine.

    Args:
        loop: The loop of each sample.
        samples: Number of samples of the study.
    """
    per_period = COMPILED * loop.robot.n if isinstance(loop.controller, Controller) else PYTHON
    second = SECOND / (per_period * loop.steps)
    most = min(second, samples / BLOCKS, MOST)
    return max(1, int(most) // loop.rows) * loop.rows
