"""What URDF cannot say, in attributes of the namespace `flexjoint:`, which other readers ignore.

    <robot name="arm" flexjoint:gravity="0 0 -3.7" flexjoint:tool="hand" flexjoint:allow_unphysical="true" ...>
    <origin xyz="0 0 0.3" rpy="0.1 0.2 0.3" flexjoint:rotation="r11 r12 r13 r21 ... r33"/>
    <inertia ixx="0.1" ... flexjoint:matrix="i11 i12 ... i33"/>

A rotation or an inertia is stated a second time where the usual attributes do not give it back to the last bit.  It
counts only where both agree: a file whose rpy somebody has changed is read as it says there, and the other is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...types import FloatArray
from ..xml import Element

if TYPE_CHECKING:
    from ...robot import Robot

NAMESPACE = "urn:flexjoint:urdf"
ROTATION, MATRIX = "flexjoint:rotation", "flexjoint:matrix"
GRAVITY, TOOL, UNPHYSICAL = "flexjoint:gravity", "flexjoint:tool", "flexjoint:allow_unphysical"
AGREEMENT = 1e-12  # of the largest element
DISAGREES = "differs from the attributes beside it, which count"


def exact_matrix(element: Element, attribute: str, given: FloatArray) -> FloatArray:
    """The matrix (3, 3) of an attribute if it agrees with that of the other attributes, otherwise these."""
    if attribute not in element.attributes:
        return given
    words = element.attributes[attribute].split()
    if len(words) != 9:
        raise element.wrong(f"{attribute} of <{element.tag}> has {len(words)} numbers: give nine, row by row")
    stated = np.array([element.parsed(x, f"{attribute} of <{element.tag}>") for x in words]).reshape(3, 3)
    if np.max(np.abs(stated - given)) > AGREEMENT * np.max(np.abs(given)):
        return given  # not marked as read: in the report
    element.read.add(attribute)
    return stated


def with_stated_fields(robot: Robot, top: Element, *, tool: bool) -> Robot:
    """The robot with gravity and other fields that the <robot> element states; `tool`: whether the tool too."""
    stated: dict[str, Any] = {}
    if GRAVITY in top.attributes:
        stated["gravity"] = top.vector(GRAVITY)
    if top.attributes.get(UNPHYSICAL) == "true":
        stated["allow_unphysical"] = True
    if tool and top.attributes.get(TOOL) in {link.name for link in robot.links}:
        stated["tool"] = top.attributes[TOOL]
    return robot.replace(**stated) if stated else robot
