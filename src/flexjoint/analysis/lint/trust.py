"""Numbers that nobody vouches for."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import listed
from ...findings import Finding
from ...robot import Robot, without_source
from ...robot.sources import stated_sources

SHOWN = 6  # paths in a message


def trust_findings(robot: Robot) -> Iterator[Finding]:
    """Placeholders, and numbers without a source in a robot that has sources."""
    placeholders = [path for path, x in stated_sources(robot).items() if x is not None and x.trust == "placeholder"]
    if placeholders:
        yield Finding(
            "warning",
            "trust",
            placeholders[0].partition(".")[0],
            f"{len(placeholders)} numbers are placeholders: {listed(placeholders, most=SHOWN)}",
            "replace them by known ones, or see what they cost with fj.analysis.sensitivity",
        )
    missing = without_source(robot) if robot.sources else ()
    if missing:
        yield Finding(
            "note",
            "trust",
            missing[0].partition(".")[0],
            f"{len(missing)} numbers have no source: {listed(missing, most=SHOWN)}",
            "say where they come from (docs/drive-files.md)",
        )
