"""What a report shows of a result: lines and tables, as on the command line, and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError, shown as shown_value
from ..robot import Robot
from ..tables import Table
from ..trajectory.limits import Exceeded, violation_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Content(NamedTuple):
    """What a report shows of a result.

    Args:
        title: Heading of the page.
        shown: Lines and tables in their order; a command prints the same.
        figures: Functions that give a matplotlib Figure or the bytes of a PNG picture, by caption.
        robot: The robot of the result; None if there are several or none.
        settings: What decided the numbers, as far as the result knows it.
        below: Tables below the figures.
    """

    title: str
    shown: Sequence[str | Table]
    figures: Mapping[str, Callable[[], Figure | bytes]] = {}
    robot: Robot | None = None
    settings: Mapping[str, object] = {}
    below: Sequence[Table] = ()


@singledispatch
def content_of(result: Any) -> Content:
    """What a report shows of a result.

    Args:
        result: A MotorTable, StiffnessTable, Simulation, MonteCarlo, DetectionReport, Identification, RotorComparison,
            LinearModel, LoopGain, RecordAssessment, ResidualVibration, StudySummary, SobolIndices, WorstCase or
            GainSearch.

    Returns:
        A Content.

    Raises:
        InputError: There are no reports of such an object.

    A new kind of result has a function under `@content_of.register`.
    """
    raise InputError(
        f"write_report: result is {shown_value(result)}; give what motor_table, simulate, monte_carlo, detect, "
        "identify, compare_rotor_models, linearize, loop_gain, assess_record, residual_vibration, summarize, "
        "sobol_indices, worst_case or gain_search returns"
    )


def exceeded_tables(exceeded: Exceeded) -> list[Table]:
    """The table of limits that are exceeded, with what would cure each; empty if there are none."""
    return [violation_table(exceeded.violations)] if exceeded.violations else []
