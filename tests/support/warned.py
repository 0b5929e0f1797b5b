"""What a call warns of, and robots to warn of."""

import dataclasses
import warnings

import flexjoint as fj


def said(call):
    """The warnings of a call, all of them ours."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert all(x.category is fj.FlexjointWarning for x in found), found
    return [str(x.message) for x in found]


def with_limits(robot, **limits):
    """The robot with these limits at all its moving joints."""

    def limited(joint):
        return dataclasses.replace(joint, limits=fj.Limits(**limits)) if joint.moves else joint

    return robot.replace(links=[dataclasses.replace(link, joint=limited(link.joint)) for link in robot.links])
