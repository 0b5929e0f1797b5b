"""Command `serve`: a simulated robot over UDP."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .app import CURRENT, CommonOptions, command, say
from .command_result import CommandResult
from .robot_options import RobotArgument
from .tables import Table


@command(lock_step="lock_step", faults="fault")
def serve(
    robot: RobotArgument,
    udp: Annotated[str, typer.Option(help="Address and port to listen at; port 0 is any.")] = "127.0.0.1:0",
    rate: Annotated[float, typer.Option(help="States per second, Hz.")] = 1000.0,
    duration: Annotated[float | None, typer.Option(help="Simulated time, s; default until Ctrl-C.")] = None,
    lock_step: Annotated[
        bool, typer.Option("--lock-step", help="Wait for the answer to every state instead of real time.")
    ] = False,
    substeps: Annotated[int, typer.Option(help="Integration steps per period.")] = 1,
    stiffness: Annotated[
        float | None, typer.Option(help="Stiffness of joints with two motors at the start, Nm/rad or N/m.")
    ] = None,
    loss: Annotated[float, typer.Option(help="Share of packets dropped in each direction, such as 0.01.")] = 0.0,
    delay: Annotated[int, typer.Option(help="Periods by which states arrive late.")] = 0,
    fault: Annotated[
        list[str] | None,
        typer.Option(help="MOTOR=SHARE or MOTOR=SHARE@TIME: a motor that gives less torque; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the dropped packets.")] = 0,
) -> CommandResult:
    """Simulate a robot whose torques come by UDP.

    Sends its state every period and takes torques, in real time or in lock step. Ctrl-C ends it and prints what
    happened.
    """
    import numpy as np

    import flexjoint as fj

    from ..checks import positive

    host, port = address(udp)
    positive("serve", "rate", rate)
    quiet = CURRENT.get(CommonOptions()).quiet

    def ready(host: str, port: int) -> None:
        if not quiet:
            say(f"{robot.name} listens at {host}:{port}; Ctrl-C ends it")

    found = fj.deployment.serve(
        robot,
        duration,
        host=host,
        port=port,
        period=1.0 / rate,
        lock_step=lock_step,
        stiffness=stiffness,
        substeps=substeps,
        loss=loss,
        delay=delay,
        faults=[motor_fault(robot, text) for text in fault or ()],
        seed=seed,
        ready=ready,
    )
    counts = ("periods", "late", "held", "released", "limited", "malformed", "foreign", "replayed", "lost")
    data: dict[str, Any] = {"robot": robot.name} | {name: int(getattr(found, name)) for name in counts}
    if found.lateness.size:
        shares = {"median": 50.0, "99 %": 99.0, "largest": 100.0}
        jitter = {name: float(np.percentile(found.lateness, x)) for name, x in shares.items()}
        data["lateness_s"] = jitter
    rows = [[name, str(data[name])] for name in counts]
    rows += [[f"lateness, {name}", f"{1e6 * x:.0f} µs"] for name, x in data.get("lateness_s", {}).items()]
    return CommandResult([Table(["what", "count"], rows)], data)


def address(text: str) -> tuple[str, int]:
    """Host and port of --udp."""
    from ..errors import InputError

    host, sign, port = text.rpartition(":")
    if not sign or not port.isdigit():
        raise InputError(f"--udp is {text!r}; give an address and a port, such as 127.0.0.1:5005")
    return host.strip("[]"), int(port)


def motor_fault(robot: Any, text: str) -> Any:
    """The fault of --fault."""
    from ..deployment import MotorFault
    from ..errors import InputError

    motor, _, rest = text.partition("=")
    share, _, begin = rest.partition("@")
    try:
        numbers = float(share), float(begin or 0.0)
    except ValueError:
        raise InputError(f"--fault is {text!r}; give MOTOR=SHARE@TIME, such as {robot.motor_names[0]}=0.5@3") from None
    if motor not in robot.motor_names:
        raise InputError(f"--fault: there is no motor {motor!r}; there are {', '.join(robot.motor_names)}")
    return MotorFault(robot.motor_names.index(motor), *numbers)
