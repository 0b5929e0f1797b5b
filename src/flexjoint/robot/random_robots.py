"""Random robots with bodies that can exist, for tests, benchmarks and examples.  A seed determines the robot."""

from __future__ import annotations

import math

import numpy as np

from ..drives import Drive, ElasticDrive, Motor
from ..errors import RobotError
from ..numerics import exp, log, product
from ..spatial import rotation_rpy
from ..types import FloatArray
from .joints import JointKind
from .joints.fixed import Fixed
from .joints.prismatic import Prismatic
from .joints.revolute import Revolute
from .model import Robot
from .parts import BASE, Joint, Link

TAIL = 3.65  # standard deviations, of one draw in 4000: beyond it NumPy uses the C library's logarithm


def random_robot(
    n: int,
    seed: int,
    *,
    prismatic: float = 0.25,
    tree: bool = False,
    elastic: float = 0.0,
    friction: bool = False,
    orthogonal: bool = False,
    fixed: float = 0.0,
    name: str | None = None,
) -> Robot:
    """A random robot with n moving joints.  Same arguments, same robot.

    Args:
        n: Number of moving joints, at least 1.
        seed: Of the random numbers.
        prismatic: Probability of a prismatic joint; the others are revolute. Default 0.25.
        tree: Whether the links form a random tree, in which several links may hang on the base. Default False, a chain.
        elastic: Fraction of the joints with a spring. Default 0.
        friction: Whether the joints have viscous friction. Default False.
        orthogonal: Whether neighbouring axes are parallel or perpendicular and offsets follow an axis, as in most real
            arms. Default False.
        fixed: Probability of a further body, or bare frame, on a fixed joint before each moving joint. Default 0.
        name: Of the robot. Default random_n_seed.

    Returns:
        A Robot.

    Raises:
        RobotError: If n is less than 1 or a probability lies outside 0 to 1.

    Example:
        >>> random_robot(3, seed=0, prismatic=0.0)
        Robot('random_3_0', RRR, 3 links, tool 'link3')
    """
    if n < 1:
        raise RobotError(f"random_robot: n is {n}: give at least one joint")
    for what, value in (("prismatic", prismatic), ("elastic", elastic), ("fixed", fixed)):
        if not 0.0 <= value <= 1.0:
            raise RobotError(f"{what} is {value}: it must lie between 0 and 1")
    rng = np.random.default_rng(seed)
    springy = set(rng.permutation(n)[: round(elastic * n)].tolist())
    names: list[str] = []
    links: list[Link] = []

    def add(label: str, kind: JointKind, drive: Drive | None = None) -> None:
        above = int(rng.integers(-1, len(names))) if tree else len(names) - 1
        joint = Joint(
            f"{label}_joint",
            kind,
            random_offset(rng, orthogonal),
            random_quarter_turns(rng) if orthogonal else random_rotation(rng),
            viscous_friction=float(rng.uniform(0.01, 1.0)) if friction and kind.moves else 0.0,
            drive=drive,
        )
        bare = not kind.moves and rng.random() < 0.25
        mass, com, inertia = (0.0, np.zeros(3), np.zeros((3, 3))) if bare else random_body(rng)
        links.append(Link(label, joint, names[above] if above >= 0 else BASE, mass, com, inertia))
        names.append(label)

    for i in range(n):
        if rng.random() < fixed:
            add(f"fixed{i + 1}", Fixed())
        kind: JointKind = Prismatic() if rng.random() < prismatic else Revolute()
        add(f"link{i + 1}", kind, random_spring(rng) if i in springy else None)
    gravity = product(random_rotation(rng), [0.0, 0.0, 9.81])
    return Robot(name or f"random_{n}_{seed}", tuple(links), gravity)


def random_rotation(rng: np.random.Generator) -> FloatArray:
    """Nearly uniform over all rotations, from a unit quaternion."""
    quaternion = rng.normal(size=4)
    while np.any(np.abs(quaternion) > TAIL):
        quaternion = rng.normal(size=4)
    w, x, y, z = quaternion / np.sqrt(np.sum(quaternion * quaternion))
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def random_quarter_turns(rng: np.random.Generator) -> FloatArray:
    """One of the 24 rotations of the cube, exactly."""
    roll, pitch, yaw = rng.integers(0, 4, size=3) * (math.pi / 2)
    return rotation_rpy(roll, pitch, yaw)


def random_offset(rng: np.random.Generator, along_an_axis: bool) -> FloatArray:
    """A vector within ±0.4 m in each direction, or along one of them only."""
    offset = rng.uniform(-0.4, 0.4, size=3)
    return offset * np.eye(3)[rng.integers(3)] if along_an_axis else offset


def random_body(rng: np.random.Generator) -> tuple[float, FloatArray, FloatArray]:
    """Mass, centre of mass and central inertia tr(Σ) 1 − Σ of a positive second moment Σ: one a real body has."""
    mass = float(rng.uniform(0.5, 5.0))
    R, radii = random_rotation(rng), rng.uniform(0.03, 0.15, size=3)
    Sigma = product(mass * (R * (radii * radii)), R.T)
    inertia = np.trace(Sigma) * np.eye(3) - (Sigma + Sigma.T) / 2
    return mass, rng.uniform(-0.2, 0.2, size=3), inertia


def random_spring(rng: np.random.Generator) -> ElasticDrive:
    """A linear spring and a motor, both log-uniform: 100 to 10 000 Nm/rad and 0.05 to 3 kg m²."""
    stiffness, inertia = (exp(rng.uniform(log(low), log(high))) for low, high in ((100.0, 10000.0), (0.05, 3.0)))
    return ElasticDrive(float(stiffness), Motor(float(inertia)))
