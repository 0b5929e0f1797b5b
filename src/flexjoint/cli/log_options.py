"""Options of commands that read logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from .completion import logs

LogFile = Annotated[
    Path,
    typer.Argument(
        help="A .csv, .npz, .parquet, .mcap or .nc file: t, q.JOINT, v.JOINT, ..., tau.JOINT.", autocompletion=logs
    ),
]
TimeUnit = Annotated[
    str | None, typer.Option(help="Unit of the time of a log if its header has none: s, ms, us or ns.")
]
ColumnNames = Annotated[str, typer.Option(help="Names of quantities in a log, such as t=stamp,tau=effort.")]
TorqueConstant = Annotated[
    str,
    typer.Option(metavar="K[,K...]", help="Nm/A of the motors before the reduction: torques come from currents."),
]
GearRatio = Annotated[
    str, typer.Option(metavar="N[,N...]", help="Reduction for --torque-constant; default that of the robot's motors.")
]
MeasuredTorque = Annotated[
    bool, typer.Option("--measured-torque", help="tau was measured at t, not commanded at t and held.")
]
Topic = Annotated[
    str | None, typer.Option(help="Topic of an MCAP file, or several: A,B; default the one with most columns.")
]
Late = Annotated[
    str,
    typer.Option(metavar="QUANTITY=S[,...]", help="Delays of quantities to take out, such as theta=0.005."),
]


class ReadingOptions(NamedTuple):
    """How logs are read, shared by the commands that take torques from them."""

    time_unit: TimeUnit = None
    columns: ColumnNames = ""
    torque_constant: TorqueConstant = ""
    gear_ratio: GearRatio = ""
    topic: Topic = None
    late: Late = ""

    @property
    def keywords(self) -> dict[str, Any]:
        """Keyword arguments of `read_log`; what is not given is None."""
        from ..logs.columns import column_names

        return {
            "time_unit": self.time_unit,
            "columns": column_names(self.columns) or None,
            "torque_constant": per_motor("--torque-constant", self.torque_constant),
            "gear_ratio": per_motor("--gear-ratio", self.gear_ratio),
            "topic": self.topic,
            "late": delays(self.late) or None,
        }


def delays(text: str) -> dict[str, float]:
    """Delays by quantity, from a text such as `theta=0.005,tau_e=0.001`."""
    from ..errors import InputError

    found = {}
    for item in filter(None, (x.strip() for x in text.split(","))):
        name, _, value = (x.strip() for x in item.partition("="))
        try:
            found[name] = float(value)
        except ValueError:
            raise InputError(f"--late has {item[:80]!r}; give QUANTITY=SECONDS, such as theta=0.005") from None
    return found


def per_motor(option: str, text: str) -> float | list[float] | None:
    """A number, or one per motor, of an option; None if it is not given."""
    from ..errors import InputError

    try:
        found = [float(x) for x in text.split(",")] if text else []
    except ValueError:
        raise InputError(f"{option} is {text[:80]!r}; give a number, or one per motor, such as 0.1,0.12") from None
    return found[0] if len(found) == 1 else found or None
