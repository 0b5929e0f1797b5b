"""Make a log in which something happens: an arm with elastic joints is struck, and later a motor gives too little torque.

Writes calibration.csv, in which nothing happens, and log.csv; then try

    flexjoint detect kuka_lwr log.csv --calibration calibration.csv --plot detections.png
"""

import casadi as ca
import numpy as np

import flexjoint as fj

robot = fj.load("kuka_lwr")
motion = fj.Sinusoid([0.5, 0.4, 0.3, 0.5, 0.3, 0.4, 0.3], [0.2, 0.25, 0.3, 0.2, 0.35, 0.3, 0.4], duration=5.0)
law = fj.FeedforwardPD(robot, [2000.0, 150.0])


def strike(t, state):
    """60 N on link 5 around 2 s."""
    on = ca.logic_and(t > 2.0, t < 2.1)
    return {"link5": on * ca.sin(np.pi * (t - 2.0) / 0.1) ** 2 * ca.SX([0.0, 60.0, 0.0, 0.0, 0.0, 0.0])}


def save(name, run, commanded, lost):
    """Encoders of 20 bits, noisy velocities; the columns of q, q', θ, θ' and of the torque that was commanded."""
    rng = np.random.default_rng(0)
    step = 2 * np.pi / 2**20
    q, theta = (step * np.round(x / step) for x in (run.q, run.theta))
    v, theta_v = (x + 1e-3 * rng.normal(size=x.shape) for x in (run.v, run.theta_v))
    v[lost] = np.nan
    table = np.column_stack([run.t, q, v, theta, theta_v, commanded])
    labels = [f"{what}.{joint.name}" for what in ("q", "v", "theta", "theta_v", "tau") for joint in robot.joints]
    np.savetxt(name, table, "%.9g", ",", header=",".join(["t", *labels]), comments="")


weak = np.where(np.arange(7) == 1, 0.8, 1.0)  # motor 2 gives 80 % of its torque
for name, contact, begin, lost in (
    ("calibration.csv", None, 9.0, slice(0)),
    ("log.csv", strike, 3.0, slice(4000, 4100)),
):
    faulty = fj.FaultyActuators(law, weak, begin=begin, end=begin + 0.5)
    run = fj.simulate(robot, faulty, motion, substeps=2, contact=contact)
    save(name, run, faulty.commanded(motion(run.t, law.order), run.states), lost)
    print(f"wrote {name}: {len(run.t)} samples")
