"""A pendulum with limits, and its motion at any speed in closed form: no code of flexjoint computes a torque here."""

import math

import numpy as np

import flexjoint as fj
from flexjoint.drives import Friction, MotorLimits, SpringLimits

MASS, ARM, INERTIA, ROTOR, GRAVITY = 2.0, 0.5, 0.05, 0.3, 9.81
QUANTITIES = (
    *("velocity", "acceleration", "jerk", "torque", "motor speed", "power", "spring torque", "deflection"),
    "root-mean-square torque",
)


def pendulum(limits, stiffness=200.0, viscous=0.0, motor_viscous=0.0, coulomb=0.0, damping=0.0):
    """A pendulum in a vertical plane, horizontal at q = 0; `limits` has numbers by the names of `QUANTITIES`."""

    def given(**names):
        return {field: limits.get(name, math.inf) for field, name in names.items()}

    motor_limits = MotorLimits(
        **given(torque="torque", speed="motor speed", rms_torque="root-mean-square torque", power="power")
    )
    friction = Friction(viscous=motor_viscous, coulomb=coulomb, velocity=0.05)
    motor = fj.Motor(ROTOR, limits=motor_limits, friction=friction)
    springs = SpringLimits(**given(torque="spring torque", deflection="deflection"))
    drive = fj.ElasticDrive(stiffness, motor, damping, springs) if stiffness else fj.RigidDrive(motor)
    bounds = fj.Limits(**given(velocity="velocity", acceleration="acceleration", jerk="jerk"))
    joint = fj.Joint("hinge", limits=bounds, drive=drive, viscous_friction=viscous)
    link = fj.Link("arm", joint, mass=MASS, com=(ARM, 0.0, 0.0), inertia=np.diag([0.01, INERTIA, INERTIA]))
    return fj.Robot("pendulum", [link], gravity=(0.0, -GRAVITY, 0.0))


def quantities(stack, stiffness=200.0, viscous=0.0, motor_viscous=0.0, coulomb=0.0):
    """The limited quantities by name, from [q, q', ..., q''''], (5, ..., 1) or (5, ...)."""
    q, v, a, j, s = stack
    J, G = INERTIA + MASS * ARM**2, MASS * GRAVITY * ARM
    c = stiffness or math.inf
    tau_e = J * a + G * np.cos(q) + viscous * v
    tau_e_v = J * j - G * np.sin(q) * v + viscous * a
    tau_e_a = J * s - G * (np.cos(q) * v**2 + np.sin(q) * a) + viscous * j
    theta_v, theta_a = v + tau_e_v / c, a + tau_e_a / c
    tau = ROTOR * theta_a + motor_viscous * theta_v + coulomb * np.tanh(theta_v / 0.05) + tau_e
    found = {"velocity": v, "acceleration": a, "jerk": j, "torque": tau, "motor speed": theta_v, "power": tau * theta_v}
    return found | ({"spring torque": tau_e, "deflection": tau_e / c} if stiffness else {})


def worst(motion, limits, speeds, samples, **drive):
    """Largest share of any limit at each speed (k,), over even samples of the motion."""
    t = np.linspace(0.0, motion.duration, samples)
    stack = motion(t, order=4)[..., 0]
    found = []
    for s in speeds:
        values = quantities(stack * (s ** np.arange(5))[:, None], **drive)
        shares = [np.abs(values[name]).max() / limits[name] for name in limits if name in values]
        if "root-mean-square torque" in limits:
            mean = np.trapezoid(values["torque"] ** 2, t) / motion.duration
            shares.append(math.sqrt(mean) / limits["root-mean-square torque"])
        found.append(max(shares))
    return np.array(found)


def scanned(motion, limits, count=4000, **drive):
    """The greatest feasible speed by a dense scan, refined; None if no speed of the scan is feasible."""
    speeds = np.geomspace(1e-3, 1e3, count)
    good = np.flatnonzero(worst(motion, limits, speeds, 401, **drive) <= 1)
    good = next((k for k in good[::-1] if worst(motion, limits, speeds[k : k + 1], 20001, **drive)[0] <= 1), None)
    if good is None:
        return None
    low, high = speeds[good], speeds[min(good + 1, len(speeds) - 1)]
    for _ in range(30):
        middle = 0.5 * (low + high)
        if worst(motion, limits, [middle], 20001, **drive)[0] <= 1:
            low = middle
        else:
            high = middle
    return low


def random_case(rng):
    """A motion, drive and limits; the limits are those that some random speed takes, more or less."""
    kind = rng.integers(4)
    if kind == 0:
        motion = fj.trajectory.RestToRest([rng.uniform(-2, 2)], [rng.uniform(-2, 2)], rng.uniform(0.3, 5.0))
    elif kind == 1:
        motion = fj.trajectory.Spline(rng.uniform(-1.5, 1.5, (4, 1)), np.linspace(0.0, rng.uniform(0.5, 4.0), 4))
    elif kind == 2:
        motion = fj.trajectory.Sinusoid([rng.uniform(0.1, 1.5)], rng.uniform(0.2, 1.0), offset=[rng.uniform(-2, 2)])
    drive = {
        "stiffness": float(rng.choice([0.0, 60.0, 400.0])),
        "viscous": float(rng.choice([0.0, 1.5])),
        "motor_viscous": float(rng.choice([0.0, 2.0])),
    }
    if kind == 3:  # a swing about the lowest position, whose turning points need more torque at rest than the limit
        amplitude = rng.uniform(0.2, 1.0)
        motion = fj.trajectory.Sinusoid([amplitude], rng.uniform(0.2, 1.0), offset=[-math.pi / 2])
        return motion, drive, {"torque": float(rng.uniform(0.2, 1.2) * MASS * GRAVITY * ARM * math.sin(amplitude))}
    stack = motion(np.linspace(0.0, motion.duration, 401), order=4)[..., 0]
    near = quantities(stack * (rng.uniform(0.3, 3.0) ** np.arange(5))[:, None], **drive)
    near["root-mean-square torque"] = near["torque"] * 0.6
    names = [x for x in near if rng.random() < 0.5] or ["torque"]
    if set(names) <= {"spring torque", "deflection"}:
        names.append("torque")
    limits = {name: float(np.abs(near[name]).max() * rng.uniform(0.5, 1.5)) + 1e-3 for name in names}
    if limits.get("root-mean-square torque", 0.0) > limits.get("torque", math.inf):
        limits["root-mean-square torque"] = limits["torque"]
    return motion, drive, limits
