"""MCAP files: joint states of ROS 2, other messages, JSON, and what is refused."""

import json
import sys

import numpy as np
import pytest

import flexjoint as fj

mcap_writer = pytest.importorskip("mcap.writer")
ros2 = pytest.importorskip("mcap_ros2.writer")

ROBOT = fj.random_robot(2, 1, prismatic=0.0, name="arm")
NAMES = [joint.name for joint in ROBOT.joints]
T = 0.01 * np.arange(40)
Q, V = np.column_stack([np.sin(T), 0.5 * T]), np.column_stack([np.cos(T), 0 * T + 0.5])
TAU = np.column_stack([T, -T])
BEGIN = 1_700_000_000 * 10**9  # ns
JOINT_STATE = """std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
LBR_STATE = "float64[2] measured_joint_position\nfloat64[2] measured_torque\nfloat64[2] external_torque\nint8 mode\n"


def stamp(t):
    whole = BEGIN + round(t * 1e9)
    return {"stamp": {"sec": whole // 10**9, "nanosec": whole % 10**9}, "frame_id": ""}


def joint_states(path, *, compression="zstd", gripper=True, late=0, chunk_size=2**20, topic="/joint_states"):
    """Joint states in another order than the robot's, logged late, with messages of a gripper among them."""
    with open(path, "wb") as file:
        writer = ros2.Writer(
            file, chunk_size=chunk_size, compression=getattr(mcap_writer.CompressionType, compression.upper())
        )
        schema = writer.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
        for k, t in enumerate(T):
            message = {
                "header": stamp(t),
                "name": NAMES[::-1],
                "position": Q[k, ::-1].tolist(),
                "velocity": V[k, ::-1].tolist(),
                "effort": TAU[k, ::-1].tolist(),
            }
            when = BEGIN + round(t * 1e9) + late
            writer.write_message(topic, schema, message, log_time=when, publish_time=when)
            if gripper and k % 10 == 5:
                other = {"header": stamp(t), "name": ["finger"], "position": [0.04], "velocity": [], "effort": []}
                writer.write_message(topic, schema, other, log_time=when, publish_time=when)
        writer.finish()
    return path


@pytest.mark.parametrize("compression", ["zstd", "lz4", "none"])
def test_joint_states(tmp_path, compression):
    log = fj.logs.read_log(joint_states(tmp_path / "log.mcap", compression=compression, late=7_000_000), ROBOT)
    assert log.known == ("q", "v", "tau") and log.t.size == T.size
    assert np.allclose(log.t, T, rtol=0.0, atol=1e-9), "stamps of the messages, not of the recorder"
    assert np.array_equal(log.q, Q) and np.array_equal(log.v, V) and np.array_equal(log.tau, TAU)
    assert log.ignored == ("finger.position",)
    elastic = ROBOT.with_drives([fj.ElasticDrive(500.0, fj.Motor(0.1))] * 2)
    with pytest.raises(fj.InputError, match="may be the torque of the motors or of joint torque sensors"):
        fj.logs.read_log(tmp_path / "log.mcap", elastic)
    assert np.array_equal(fj.logs.read_log(tmp_path / "log.mcap", elastic, columns={"tau_e": "effort"}).tau_e, TAU)


def test_other_messages_and_topics(tmp_path):
    with open(tmp_path / "log.mcap", "wb") as file:
        writer = ros2.Writer(file)
        schema = writer.register_msgdef("lbr_fri_idl/msg/LBRState", LBR_STATE)
        for k, t in enumerate(T):
            message = {"mode": 1}
            message |= {"measured_joint_position": Q[k].tolist(), "measured_torque": TAU[k].tolist()}
            message |= {"external_torque": V[k].tolist()}
            when = BEGIN + round(t * 1e9)
            writer.write_message("/lbr/state", schema, message, log_time=when, publish_time=when)
            writer.write_message("/lbr/copy", schema, message, log_time=when, publish_time=when)
        writer.finish()
    with pytest.raises(fj.InputError, match=r"topics /lbr/state, /lbr/copy .* say which with topic='/lbr/state'"):
        fj.logs.read_log(tmp_path / "log.mcap", ROBOT)
    log = fj.logs.read_log(tmp_path / "log.mcap", ROBOT, topic="/lbr/state")
    assert np.allclose(log.t, T) and np.array_equal(log.q, Q) and np.array_equal(log.tau_e, TAU)
    assert log.ignored == ("external_torque[0]", "external_torque[1]", "mode", "/lbr/copy (topic)")
    with pytest.raises(fj.InputError, match="there is no topic '/none' with numbers; there are /lbr/state, /lbr/copy"):
        fj.logs.read_log(tmp_path / "log.mcap", ROBOT, topic="/none")
    with pytest.raises(fj.InputError, match=r"only \.mcap files have topics"):
        fj.logs.read_log(tmp_path / "log.csv", ROBOT, topic="/none")


def test_json(tmp_path):
    with open(tmp_path / "log.mcap", "wb") as file:
        writer = mcap_writer.Writer(file)
        writer.start()
        schema = writer.register_schema("state", "jsonschema", b"{}")
        channel = writer.register_channel("/state", "json", schema)
        for k, t in enumerate(T):
            data = json.dumps({"robot": {"q": Q[k].tolist(), "dq": V[k].tolist()}, "text": "x", "ok": True}).encode()
            writer.add_message(channel, BEGIN + round(t * 1e9), data, BEGIN + round(t * 1e9))
        writer.finish()
    log = fj.logs.read_log(tmp_path / "log.mcap", ROBOT)
    assert np.array_equal(log.q, Q) and np.array_equal(log.v, V) and log.ignored == ("ok",)


def test_damaged_files(tmp_path):
    whole = joint_states(tmp_path / "log.mcap", chunk_size=1000).read_bytes()
    (tmp_path / "cut.mcap").write_bytes(whole[: len(whole) // 2])
    with pytest.warns(fj.FlexjointWarning, match="the file ends early, so its last messages may be missing"):
        log = fj.logs.read_log(tmp_path / "cut.mcap", ROBOT)
    assert 5 < log.t.size < T.size and np.array_equal(log.q, Q[: log.t.size])
    (tmp_path / "cut.mcap").write_bytes(whole[:100])
    with pytest.raises(fj.InputError, match="the file ends before its first message"):
        fj.logs.read_log(tmp_path / "cut.mcap", ROBOT)
    (tmp_path / "cut.mcap").write_bytes(b"not a bag")
    with pytest.raises(fj.InputError, match="not an MCAP file"):
        fj.logs.read_log(tmp_path / "cut.mcap", ROBOT)
    with pytest.raises(fj.InputError, match="no topic is a log of kuka_lwr"):
        fj.logs.read_log(tmp_path / "log.mcap", fj.load("kuka_lwr"))


def test_a_chunk_unpacks_to_no_more_than_it_states(tmp_path):
    """A chunk of zeros states a small size: reading stops there instead of filling the memory."""
    import zstandard
    from mcap.records import Chunk

    from flexjoint.logs.mcap_files import unpack

    packed = zstandard.compress(bytes(50_000_000))
    chunk = Chunk("zstd", packed, 0, 0, 0, 1000)
    assert len(packed) < 10_000 and len(unpack(chunk)) == 1000


def test_without_the_packages(tmp_path, monkeypatch):
    path = joint_states(tmp_path / "log.mcap")
    monkeypatch.setitem(sys.modules, "mcap_ros2.decoder", None)
    with pytest.raises(fj.InputError, match=r"need mcap and mcap-ros2-support: pip install 'flexjoint\[mcap\]'"):
        fj.logs.read_log(path, ROBOT)


def test_two_topics_of_one_robot(tmp_path):
    """Links at 50 Hz and motors at 100 Hz: rows of common stamps, the rest interpolated."""
    elastic = ROBOT.with_drives([fj.ElasticDrive(100.0, fj.Motor(0.1))] * 2)
    path = tmp_path / "log.mcap"
    with open(path, "wb") as file:
        writer = ros2.Writer(file)
        schema = writer.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
        for k, t in enumerate(T):
            both = {"/joint_states": (t + 0.003, Q[k], [])} if k % 2 == 0 else {}
            both["/motor_states"] = (t, Q[k] + 0.1, TAU[k].tolist())
            for topic, (when, position, effort) in both.items():
                names = {"name": NAMES, "position": position.tolist(), "velocity": [], "effort": effort}
                ns = BEGIN + round(when * 1e9)
                writer.write_message(topic, schema, {"header": stamp(when), **names}, log_time=ns, publish_time=ns)
        writer.finish()
    log = fj.logs.read_log(path, elastic, topic="/joint_states,/motor_states")
    assert np.allclose(log.t, T[::2] + 0.003) and np.allclose(log.q, Q[::2])
    assert log.interpolated == ("theta", "tau") and log.ignored == ()
    known = np.isfinite(log.theta[:, 0])
    assert np.count_nonzero(known) >= 19
    inside = T[::2][known] + 0.003
    assert np.allclose(log.theta[known], np.column_stack([np.sin(inside), 0.5 * inside]) + 0.1, rtol=0, atol=1e-6)
    assert np.allclose(log.tau[known], np.column_stack([inside, -inside]))
    assert fj.logs.read_log(path, elastic).ignored == ("/motor_states (topic)",)
    with pytest.raises(fj.InputError, match="there is no topic '/motors' with numbers"):
        fj.logs.read_log(path, elastic, topic="/joint_states,/motors")
