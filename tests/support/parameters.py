"""A robot with other numbers, written out field by field: nothing of flexjoint.robot.parameters is used."""

import dataclasses

import numpy as np

import flexjoint as fj


def scrambled(robot, seed=0):
    """The same tree with new masses, lengths, springs and gravity, and a value for every path; no zero stays zero."""
    rng = np.random.default_rng(seed)
    values = {}

    def number(path, low, high):
        values[path] = float(rng.uniform(low, high))
        return values[path]

    def vector(path, scale):
        values[path] = rng.uniform(-scale, scale, 3)
        return values[path]

    def inertia(path):
        xx, yy, zz = rng.uniform(0.02, 0.03, 3)  # so nearly equal that they keep the triangle inequality
        xy, xz, yz = rng.uniform(-0.002, 0.002, 3)
        values[path] = np.array([xx, xy, xz, yy, yz, zz])
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def motor(path, old):
        return dataclasses.replace(old, inertia=number(f"{path}.inertia", 0.1, 1.0))

    def spring(path, old):
        ranges = {"stiffness": (50.0, 500.0), "cubic": (500.0, 5000.0), "rate": (3.0, 9.0)}
        names = [field.name for field in dataclasses.fields(old)]
        return dataclasses.replace(old, **{name: number(f"{path}.{name}", *ranges[name]) for name in names})

    def drive(path, old):
        if isinstance(old, fj.ElasticDrive):
            stiffness = number(f"{path}.stiffness", 50.0, 500.0)
            changes = {"stiffness": stiffness, "motor": motor(f"{path}.motor", old.motor)}
        elif isinstance(old, fj.drives.AntagonisticDrive):
            changes = {f"spring_{k + 1}": spring(f"{path}.spring_{k + 1}", x) for k, x in enumerate(old.springs)}
            changes |= {f"motor_{k + 1}": motor(f"{path}.motor_{k + 1}", x) for k, x in enumerate(old.motors)}
        else:
            changes = {"motor": motor(f"{path}.motor", old.motor)}
        return dataclasses.replace(old, **changes)

    links = []
    for link in robot.links:
        name, joint = link.joint.name, link.joint
        changes = {"position": vector(f"{name}.position", 0.3)}
        if joint.moves:
            changes["viscous_friction"] = number(f"{name}.viscous_friction", 0.1, 1.0)
        if joint.drive is not None:
            changes["drive"] = drive(f"{name}.drive", joint.drive)
        links.append(
            dataclasses.replace(
                link,
                joint=dataclasses.replace(joint, **changes),
                mass=number(f"{link.name}.mass", 0.5, 2.0),
                com=vector(f"{link.name}.com", 0.2),
                inertia=inertia(f"{link.name}.inertia"),
            )
        )
    return robot.replace(links=links, gravity=vector("gravity", 10.0)), values
