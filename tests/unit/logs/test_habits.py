"""Columns as loggers of Franka, KUKA, UR and ROS write them; the sources of the headers are in docs/logs.md."""

import numpy as np
import pytest

import flexjoint as fj

RIGID = fj.random_robot(3, 1, prismatic=0.0, name="arm")
ELASTIC = RIGID.with_drives([fj.ElasticDrive(500.0, fj.Motor(0.1, gear_ratio=100.0))] * 3)
NAMES = [joint.name for joint in RIGID.joints]
T = 0.01 * np.arange(30)
Q = np.column_stack([np.sin(T), 0.5 * T, T * T])
V = np.column_stack([np.cos(T), 0 * T + 0.5, 2 * T])
TAU = np.column_stack([T, -T, 2 * T])
OTHER = np.full((T.size, 3), 7.0)  # of columns that must not be read


def indexed(name, form="{}[{}]", first=0):
    return [form.format(name, k + first) for k in range(3)]


def written(path, headers, *columns, mark=","):
    numbers = np.column_stack([x if x.ndim == 2 else x[:, None] for x in columns])
    assert len(headers) == numbers.shape[1]
    rows = [mark.join(headers), *(mark.join(f"{x:.12g}" for x in row) for row in numbers)]
    path.write_text("\n".join(rows) + "\n")
    return path


def check(log, **wanted):
    measured = {name for name in wanted if name not in ("t", "reference", "reference_v", "tau_d", "current")}
    assert set(log.known) - set(log.differenced) == measured
    for name, values in wanted.items():
        assert np.allclose(getattr(log, name), values, rtol=1e-9), name


def test_libfranka(tmp_path):
    state = [
        x for name in ("q", "q_d", "dq", "dq_d", "tau_J", "tau_ext_hat_filtered") for x in indexed(f"state.{name}")
    ]
    command = [*indexed("cmd.q_d"), *indexed("cmd.O_T_EE_d"), *indexed("cmd.tau_J_d")]
    numbers = (Q, Q + 0.01, V, V + 0.01, TAU, OTHER, OTHER, OTHER, TAU + 1)
    path = written(tmp_path / "log.csv", ["time", "success_rate", *state, *command], 1e3 * T, T, *numbers)
    for robot in (RIGID, ELASTIC):
        log = fj.logs.read_log(path, robot)
        check(log, t=T, q=Q, v=V, tau_e=TAU, reference=Q + 0.01, reference_v=V + 0.01, tau_d=TAU + 1)
        unread = [*indexed("state.tau_ext_hat_filtered"), *indexed("cmd.q_d"), *indexed("cmd.O_T_EE_d")]
        assert log.ignored == ("success_rate", *unread)
        assert log.headers["tau_e"] == tuple(indexed("state.tau_J"))


def test_states_of_franka_ros(tmp_path):
    names = ("q", "theta", "dq", "dtheta", "tau_J", "dtau_J", "ddq_d")
    headers = [x for name in names for x in indexed(f"/franka_state_controller/franka_states/{name}")]
    path = written(tmp_path / "log.csv", ["__time", *headers], T, Q, Q + 0.1, V, V + 0.2, TAU, OTHER, OTHER)
    log = fj.logs.read_log(path, ELASTIC)
    check(log, t=T, q=Q, theta=Q + 0.1, v=V, theta_v=V + 0.2, tau_e=TAU)
    assert log.ignored == tuple(headers[15:])


def test_recorder_of_pyfri(tmp_path):
    names = [x for name in ("mp", "ip", "mt", "et") for x in indexed(name, "{}{}", 1)]
    headers = ["index", "time", "record_time_nsec", "tsec", "tnsec", *names, "dt"]
    stamps = [np.arange(30.0), T, 1e9 * T, 0 * T, 1e9 * T]
    path = written(tmp_path / "log.csv", headers, *stamps, Q, Q + 0.01, TAU, OTHER, 0 * T + 0.01)
    log = fj.logs.read_log(path, ELASTIC)
    check(log, t=T, q=Q, tau_e=TAU, reference=Q + 0.01)
    assert {"et1", "et2", "et3", "dt", "index"} < set(log.ignored)


@pytest.mark.parametrize(
    ("q", "tau_e", "reference", "other"),
    [
        ("measured_joint_position", "measured_torque", "commanded_joint_position", "external_torque"),
        ("joint_position_measured", "joint_torque_measured", "joint_position_commanded", "joint_torque_external"),
        ("measuredJointPositions", "measuredJointTorques", "commandedJointPositions", "estimatedExternalJointTorques"),
    ],
)
def test_states_of_kuka(tmp_path, q, tau_e, reference, other):
    headers = ["time_stamp_sec", "time_stamp_nano_sec", *(x for y in (q, tau_e, reference, other) for x in indexed(y))]
    whole = np.floor(T + 0.8)
    path = written(tmp_path / "log.csv", headers, whole, 1e9 * (T + 0.8 - whole), Q, TAU, Q + 0.01, OTHER)
    check(fj.logs.read_log(path, ELASTIC), t=T + 0.8, q=Q, tau_e=TAU, reference=Q + 0.01)


def test_recorder_of_ur(tmp_path):
    names = ["actual_q", "actual_qd", "actual_current", "target_q", "target_qd", "target_qdd", "target_moment"]
    headers = ["timestamp", *(x for name in names for x in indexed(name, "{}_{}")), "actual_robot_current"]
    numbers = (Q, V, TAU / 12, Q + 0.01, V + 0.01, OTHER, TAU + 1)
    path = written(tmp_path / "log.csv", headers, T, *numbers, T, mark=" ")
    log = fj.logs.read_log(path, RIGID)
    wanted = {"t": T, "q": Q, "v": V, "current": TAU / 12, "reference": Q + 0.01, "reference_v": V + 0.01}
    check(log, **wanted, tau_d=TAU + 1)
    assert log.ignored == (*indexed("target_qdd", "{}_{}"), "actual_robot_current")
    check(fj.logs.read_log(path, RIGID, torque_constant=0.12, gear_ratio=100.0), q=Q, v=V, tau=TAU)
    check(fj.logs.read_log(path, ELASTIC, torque_constant=[0.12, 0.24, 0.12]), q=Q, v=V, tau=TAU * [1, 2, 1])
    with pytest.raises(fj.InputError, match=r"the gear ratio of .* is not known; give gear_ratio=, or 1"):
        fj.logs.read_log(path, RIGID, torque_constant=0.12)
    with pytest.raises(fj.InputError, match="gear_ratio is given without torque_constant"):
        fj.logs.read_log(path, RIGID, gear_ratio=100.0)
    with pytest.raises(fj.InputError, match=r"torque_constant has shape \(2,\); it must be a number .* or 3, one per"):
        fj.logs.read_log(path, ELASTIC, torque_constant=[0.1, 0.2])


def test_currents_need_no_torques_beside_them(tmp_path):
    headers = ["t", *indexed("q", "{}{}", 1), *indexed("current_mA", "{}_{}", 1), *indexed("tau", "{}{}", 1)]
    path = written(tmp_path / "log.csv", headers, T, Q, 1e3 * TAU, TAU)
    assert np.allclose(fj.logs.read_log(path, ELASTIC).current, TAU)
    with pytest.raises(fj.InputError, match="the log has motor torques, 'tau1'; leave out one of them"):
        fj.logs.read_log(path, ELASTIC, torque_constant=0.1)
    with pytest.raises(fj.InputError, match="there are no currents of all motors"):
        fj.logs.read_log(written(tmp_path / "log.csv", headers[:4], T, Q), ELASTIC, torque_constant=0.1)


@pytest.mark.parametrize("form", ["/joint_states/{0}/{1}", "/ns/joint_states/{0}/{1}", "{0}/{1}", "{1}.{0}", "{0}_{1}"])
def test_joint_states_by_name(tmp_path, form):
    shuffled = [2, 0, 1]
    headers = [form.format(NAMES[i], what) for what in ("position", "velocity", "effort") for i in shuffled]
    columns = [x[:, shuffled] for x in (Q, V, TAU)]
    path = written(tmp_path / "log.csv", ["__time", *headers, form.format("finger", "position")], T, *columns, T)
    log = fj.logs.read_log(path, RIGID)
    check(log, t=T, q=Q, v=V, tau=TAU)
    assert log.ignored == (form.format("finger", "position"),)


@pytest.mark.parametrize(
    ("form", "time"), [("/joint_states/{}[{}]", "__time"), ("field.{}{}", "%time"), ("{}_{}", "Time")]
)
def test_joint_states_by_number(tmp_path, form, time):
    headers = [form.format(what, k) for what in ("position", "velocity", "effort") for k in range(3)]
    t = 1e9 * (T + 4096.0) if time == "%time" else T
    log = fj.logs.read_log(written(tmp_path / "log.csv", [time, *headers], t, Q, V, TAU), RIGID)
    check(log, q=Q, v=V, tau=TAU)
    assert np.allclose(log.t, T + 4096.0 if time == "%time" else T, rtol=0.0, atol=1e-8)


def test_efforts_of_robots_with_springs_are_asked_back(tmp_path):
    headers = ["t", *indexed("position"), *indexed("effort")]
    path = written(tmp_path / "log.csv", headers, T, Q, TAU)
    with pytest.raises(
        fj.InputError, match=r"'effort\[0\]' may be the torque of the motors or of joint torque sensors"
    ):
        fj.logs.read_log(path, ELASTIC)
    check(fj.logs.read_log(path, ELASTIC, columns={"tau_e": "effort"}), q=Q, tau_e=TAU)
    check(fj.logs.read_log(path, ELASTIC, columns={"tau": "effort"}), q=Q, tau=TAU)
    path = written(tmp_path / "log.csv", [*headers, *indexed("tau_J")], T, Q, OTHER, TAU)
    log = fj.logs.read_log(path, ELASTIC)
    check(log, q=Q, tau_e=TAU)
    assert log.ignored == tuple(indexed("effort"))


def test_more_fingers_than_joints(tmp_path):
    headers = ["t", *(f"/joint_states/position[{k}]" for k in range(5))]
    log = fj.logs.read_log(written(tmp_path / "log.csv", headers, T, Q, T, T), RIGID)
    check(log, q=Q)
    assert log.ignored == ("/joint_states/position[3]", "/joint_states/position[4]")


@pytest.mark.parametrize(
    "headers",
    [
        ["J1_pos", "J2_pos", "J3_pos", "J1_motor_torque", "J2_motor_torque", "J3_motor_torque"],
        ["joint_1_position", "joint_2_position", "joint_3_position", "motor1_torque", "motor2_torque", "motor3_torque"],
        ["qpos_0", "qpos_1", "qpos_2", "qfrc_actuator_0", "qfrc_actuator_1", "qfrc_actuator_2"],
        ["A1.angle", "A2.angle", "A3.angle", "tau_A1", "tau_A2", "tau_A3"],
        ["q_meas_1", "q_meas_2", "q_meas_3", "tau_motor_1", "tau_motor_2", "tau_motor_3"],
    ],
)
def test_other_words(tmp_path, headers):
    noise = ["q_err_1", "ddq1", "tau_ext1", "x1", "tau_friction_2", "dtau_J1", "position_error_1"]
    path = written(tmp_path / "log.csv", ["t", *headers, *noise], T, Q, TAU, np.tile(T[:, None], len(noise)))
    log = fj.logs.read_log(path, ELASTIC)
    check(log, q=Q, tau=TAU)
    assert log.ignored == tuple(noise)


def test_units_behind_underscores(tmp_path):
    headers = [
        "t_ms",
        *indexed("pos_deg", "{}_{}", 1),
        *indexed("vel", "{}_{}_deg_s", 1),
        *indexed("tau_mNm", "{}_{}", 1),
    ]
    path = written(tmp_path / "log.csv", headers, 1e3 * T, np.rad2deg(Q), np.rad2deg(V), 1e3 * TAU)
    check(fj.logs.read_log(path, RIGID), t=T, q=Q, v=V, tau=TAU)


def test_a_name_of_ours_comes_before_other_words(tmp_path):
    """Simulations with sensors write both q.joint1 and measured.q.joint1."""
    headers = ["t", *(f"measured.q.{x}" for x in NAMES), *(f"q.{x}" for x in NAMES)]
    log = fj.logs.read_log(written(tmp_path / "log.csv", headers, T, OTHER, Q), RIGID)
    check(log, q=Q)
    assert log.ignored == tuple(headers[1:4])


def test_arrays_in_other_words(tmp_path):
    np.savez(tmp_path / "log.npz", timestamp=T, position=Q, velocity=V, effort=TAU, target_q=Q + 1, error=OTHER)
    log = fj.logs.read_log(tmp_path / "log.npz", RIGID)
    check(log, t=T, q=Q, v=V, tau=TAU, reference=Q + 1)
    assert log.ignored == ("error",)
    one = fj.random_robot(1, 2, prismatic=0.0, name="bench")
    np.savez(tmp_path / "one.npz", t=T, q=Q[:, 0], tau=TAU[:, :1])
    check(fj.logs.read_log(tmp_path / "one.npz", one), q=Q[:, :1], tau=TAU[:, :1])


def test_numbers_amid_words(tmp_path):
    names = ("q{}", "q{}_dot", "q{}_d", "tau{}_cmd", "theta{}", "thetadot{}", "q{}_dot_filtered")
    headers = [name.format(k + 1) for name in names for k in range(3)]
    path = written(tmp_path / "log.csv", ["t", *headers], T, Q, V, Q + 0.01, TAU, Q + 0.1, V + 0.2, OTHER)
    log = fj.logs.read_log(path, ELASTIC)
    check(log, t=T, q=Q, v=V, theta=Q + 0.1, theta_v=V + 0.2, reference=Q + 0.01, tau_d=TAU)
    assert log.ignored == tuple(headers[-3:])
