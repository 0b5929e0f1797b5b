"""Masses and inertias of a URDF: which are those of a rigid body, and what is done with the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ...checks import ROUNDING
from ...errors import quoted
from .elements import LinkData, Note
from .tree import Tree

NO_INERTIA = 1e-15  # m², the square of 32 nm: what is less per mass is rounding


def physical_links(tree: Tree, links: Mapping[str, LinkData], moving: Iterable[str], note: Note) -> dict[str, LinkData]:
    """The links whose inertia is changed, by name; unphysical ones that are used as given are reported.

    Negative principal moments are refused, but set to 0 in links that do not move and where they are no more than
    rounding of a point mass.
    """
    at_rest, changed = {tree.root}, {}
    for joint in tree.joints:
        link = links[joint.child]
        if joint.parent in at_rest and joint.name not in moving:
            at_rest.add(joint.child)
        inertial = link.element.first("inertial")
        if inertial is None or not np.any(link.inertia):
            if link.mass:
                note(inertial or link.element, f"<inertial> of '{link.name}'", "a point mass", "suspicious")
            continue
        what = f"<inertia> of '{link.name}'"
        moments = np.linalg.eigvalsh(link.inertia)
        described = f"the principal moments {', '.join(f'{x:.4g}' for x in moments)} kg m²"
        if moments[0] < -ROUNDING * abs(moments[-1]):
            rounding = float(np.max(np.abs(moments))) <= NO_INERTIA * link.mass
            if not rounding and joint.child not in at_rest:
                raise inertial.wrong(
                    f"the inertia of link '{quoted(link.name)}' has {described}: none can be negative; check the order "
                    "and signs of its elements, and that it is taken about the centre of mass"
                )
            why = "rounding" if rounding else "the link does not move"
            note(inertial, what, f"no body has {described}: taken as 0, {why}", "suspicious")
            changed[joint.child] = link._replace(inertia=np.zeros((3, 3)))
        elif is_unphysical(link):
            mass = "" if link.mass else " without mass"
            note(inertial, what, f"no rigid body{mass} has {described}; used as given", "suspicious")
    return changed


def is_unphysical(link: LinkData) -> bool:
    """Whether a link has an inertia that no rigid body with mass and an extent in all directions has."""
    if not link.mass:
        return bool(np.any(link.inertia))
    moments = np.linalg.eigvalsh(link.inertia)
    thin = moments[0] <= ROUNDING * abs(moments[-1])
    return bool(thin or moments[0] + moments[1] < moments[2] * (1 - ROUNDING))
