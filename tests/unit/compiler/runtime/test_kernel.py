"""What a kernel says of itself."""

import flexjoint as fj


def test_a_description_has_names_shapes_units_and_costs():
    kernel = fj.compile(fj.forward_kinematics, fj.load("hua_3r"))
    first, q, rotation, position, last = kernel.describe().splitlines()
    assert str(kernel.operations) in first and str(kernel.code_size) in first
    assert q.split() == ["in", "q", "3", "rad", "|", "m", "joint1,", "joint2,", "joint3"]
    assert rotation.split() == ["out", "rotation", "3,", "3", "1", "row", "by", "row"]
    assert position.split()[:4] == ["out", "position", "3", "m"]
    assert all(f"{count} {name}" in last for name, count in kernel.program.counts.items())
