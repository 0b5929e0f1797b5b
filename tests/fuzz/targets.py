"""What is fuzzed: from random numbers to an input, and what is done with it.

Each target makes an input of bytes, with the name of the file it stands in, and reads it as a user would.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

import flexjoint as fj
from flexjoint.drives import DRIVES as DRIVE_KINDS, MotorLimits, SpringLimits
from flexjoint.formats import drive_files, parse_mjcf, parse_urdf, robot_files
from flexjoint.formats.drive_tables import drive_keys
from flexjoint.formats.robot_files import parse_robot
from flexjoint.formats.writing import robot_text
from flexjoint.robot import worst_trust
from flexjoint.studies.sample_files import read_samples as read_study
from flexjoint.trajectory import KINDS as TRAJECTORY_KINDS
from flexjoint.viewer.mesh_files import read_mesh
from fuzz.mutation import NUMBERS, TEXTS, changed, damaged, inline, toml, value

DATA = Path(__file__).parents[1] / "data"
URDFS = [path.read_text() for path in sorted((DATA / "urdf").glob("*.urdf"))]
MJCFS = [path.read_text() for path in sorted((DATA / "mjcf").glob("*.xml"))]
ATTRIBUTE = re.compile(r'([\w:]+)="([^"]*)"')
ELEMENT = re.compile(r"<(\w+)[^<>]*/>|<(\w+)[^<>]*>[^<>]*(?:<[^<>]*/>\s*)*</\2>")
URDF_NAMES = ["name", "type", "link", "joint", "xyz", "rpy", "value", "lower", "upper", "effort", "ixx", "K", "xmlns"]
URDF_NAMES += ["acceleration", "armature", "damping", "izy", "quat_xyzw", "stiffness"]
URDF_WORDS = ["world", "inf", "-inf", "${x}", "0,5", "floating", "planar", "screw", "continuous", "Revolute"]
MJCF_NAMES = ["name", "type", "pos", "quat", "euler", "axis", "range", "ref", "mass", "size", "fromto", "gear", "joint"]
MJCF_NAMES += ["stiffness", "damping", "armature", "class", "childclass", "fullinertia", "polycoef", "file", "count"]
PROLOGUES = ['<!DOCTYPE r [<!ENTITY a "aaaa">]>', '<?xml version="1.0" encoding="x"?>', "<!-- -->", "\n\n", "\ufeff"]
PROLOGUES += ['<!-- - -- --- -->\n<?xml version="1.0"?>', "<!--", "-->", '<?xml version="1.0" encoding="utf-8"?>']
ROBOTS = Path(robot_files.__file__).parent.parent / "catalog"
LINK = {"mass": 1.0, "a": 0.5, "com": [0.1, 0.0, 0.0], "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1}}
TABLE = {"kind": "tabulated", "deflections": [-0.2, -0.1, 0.0, 0.1, 0.2], "torques": [-30.0, -12.0, 0.0, 12.0, 30.0]}
SPRINGS: list[dict[str, Any]] = [
    {"kind": "linear", "stiffness": 900.0},
    {"kind": "cubic", "stiffness": 900.0, "cubic": 4e4},
    {"kind": "hardening", "stiffness": 900.0, "limit": 0.4},
    {"kind": "piecewise", "deflections": [0.0, 0.1, 0.2], "stiffnesses": [100.0, 200.0, 250.0]},
    {"kind": "quadratic", "stiffness": 900.0, "slope": 100.0},
    {"kind": "exponential", "stiffness": 900.0, "rate": 2.0},
    {"kind": "sinh", "stiffness": 900.0, "rate": 6.7},
    {"kind": "four_bar", "torsion": 5.0, "ratio": 3.0},
    TABLE,
]
ROTOR = {"motor_axial_inertia": 1e-4, "motor_gear_ratio": 100.0, "motor_axis": [0.0, 0.0, 1.0], "motor_mass": 0.1}
BOUNDS = {"motor_limits": {"torque": 90.0, "rms_torque": 40.0, "speed": 3.0}, "spring_limits": {"deflection": 0.1}}
PRETENSION = {"least_pretension": 0.005, "greatest_pretension": 0.05}
BOTH = {"motor_1": {"inertia": 1.0}, "motor_2": {"inertia": 1.0}, "damping": 0.5, "greatest_stiffness": 1e4}
DRIVES: list[dict[str, Any]] = [
    {"kind": "rigid", "motor_inertia": 0.3},
    {"kind": "elastic", "stiffness": 1000.0, "motor_inertia": 0.3, "damping": 2.0, **BOUNDS},
    {"kind": "elastic", "stiffness": 1000.0, **ROTOR},
    *({"kind": "elastic", "spring": spring, "motor_inertia": 0.3} for spring in SPRINGS),
    *({"kind": "antagonistic", "spring_1": spring, "spring_2": spring, **BOTH} for spring in SPRINGS[1:2]),
    {"kind": "lever", "spring": 2e4, "arm": 0.1, "least_arm": 0.03, "greatest_arm": 0.12, **BOTH},
    {"kind": "maccepa", "spring": 800.0, "lever": 0.03, "pin": 0.12, "drum": 0.01, **PRETENSION, **BOTH},
]
FURTHER = {
    "limits": {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "effort": 100.0},
    "viscous_friction": 0.5,
    "coulomb_friction": 2.0,
    "coulomb_velocity": 0.1,
}
PARALLEL = [{"stiffness": 40.0, "rest": 0.3}, *({**spring, "rest": -0.2} for spring in SPRINGS)]
FRAME = {"name": "arm", "parent": "base", "position": [0.0, 0.0, 0.3], "rpy_deg": [90.0, 0.0, 0.0], "kind": "revolute"}
ROBOT_KEYS = [
    *robot_files.TOP_KEYS,
    *robot_files.DH_KEYS,
    *robot_files.FRAME_KEYS,
    "rest",
    *(field.name for limits in (fj.Limits, MotorLimits, SpringLimits) for field in dataclasses.fields(limits)),
    *(key for drive in DRIVE_KINDS.values() for key in drive_keys(drive)),
]
DRIVE = {"drive": {"kind": "elastic", "stiffness": 900.0, "motor_inertia": 0.4}}
TWO = parse_robot(toml({"name": "two", "convention": "standard_dh", "link": [{**LINK, **DRIVE}] * 2}).encode(), "two")
PAIR = {"drive": {"kind": "antagonistic", "spring_1": SPRINGS[1], "spring_2": SPRINGS[1], **BOTH}}
VARIABLE = parse_robot(toml({"name": "v", "convention": "standard_dh", "link": [{**LINK, **PAIR}] * 2}).encode(), "v")
TIMES = np.arange(30) * 0.01
MOTION = np.column_stack([np.sin(TIMES), np.cos(3 * TIMES)])
FREE = {"orientation": "free", "acceleration": 0.3, "from": {"position": [0.4, 0.5, 0.0]}}
TRAJECTORIES: list[dict[str, Any]] = [
    {"kind": "rest_to_rest", "start": [0.0, 0.1], "goal": [0.8, 1.0], "duration": 2.0, "smoothness": 4},
    {"kind": "sinusoid", "amplitude": [[0.1, 0.2]], "frequency": 1.0, "phase": 0.3, "offset": [3, 3], "duration": 2},
    {"kind": "fourier", "frequency": 0.5, "cosine": [[0.1, 0.2]] * 3, "sine": [[0.1, 0.2]] * 3, "offset": 2.0},
    {"kind": "spline", "points": [[0.0, 1.0], [1.0, 2.0], [0.5, 1.5]], "times": [0.0, 1.0, 2.0], "smoothness": 3},
    {"kind": "spline", "points": [[1.0, 1.0], [1.5, 2.0], [1.0, 1.0]], "duration": 2, "ends": "periodic", "degree": 5},
    {"kind": "filtered_step", "start": 1.0, "goal": [0.8, 1.0], "duration": 2.0, "order": 16},
    {"kind": "filtered_step", "goal_deg": [30.0, 40.0], "time_constant": 0.1},
    {"kind": "samples", "file": "good.csv", "order": 4, "cutoff": 10.0},
    {"kind": "trapezoid", "start": 0.1, "goal": [0.8, 1.0], "duration": 2.0, "ramp": 0.2},
    {"kind": "line", "by": [0.01, 0.02, 0.0], "start": [0.3, 0.9], "duration": 2.0, "orientation": "free"},
    {"kind": "arc", "centre": [0.3, 0.5, 0], "axis": [0, 0, 1], "angle": 0.3, "speed": 0.1, **FREE},
    {
        "kind": "arc",
        "via": [0.5, 0.45, 0],
        "to": {"position": [0.6, 0.5, 0], "rpy_deg": [0, 0, 9]},
        "speed": 0.1,
        **FREE,
    },
    {
        "kind": "pose_spline",
        "poses": [{"position": [0.6, 0.6, 0.0]}, {"position": [0.5, 0.5, 0.0], "quaternion": [1, 0, 0, 0]}],
        "times": [1.0, 2.0],
        "start": [0.3, 0.9],
        "orientation": "free",
        "limits": False,
    },
    {
        "kind": "cartesian",
        "segments": [{"by": [0.0, 0.01, 0.0], "blend": 0.01}, {"by": [0.01, 0, 0]}, {"dwell": 1}],
        **FREE,
    },
    {
        "kind": "retimed",
        "path": {"kind": "rest_to_rest", "goal": 0.5, "duration": 2.0},
        "law": {"kind": "time_law", "breaks": [0.0, 0.5, 2.0], "slopes": [1.0, 0.7, 0.4, 0.9, 1.3, 0.8], "degree": 4},
    },
]
TRAJECTORIES.append({"kind": "joined", "pieces": [TRAJECTORIES[0], {**TRAJECTORIES[0], "start": [0.8, 1.0]}]})
TRAJECTORY_KEYS = [key for kind in TRAJECTORY_KINDS.values() for key in kind.all_keys()]
HEADS = ["t", "time", "q1", "q2", "q_1", "q.joint1", "joint2.q", "joint1", "joint1 [deg]", "t [ms]", "q1 [m]", "tau1"]
HEADS += ["v1", "theta1", "theta_v2", "tau_e1", "run", "q0", "dq1", "tau_J1", "timestamp", "q" + "9" * 30, "q1 ["]
HEADS += ["", *TEXTS]


class Input(NamedTuple):
    """The contents of a file, and its name."""

    name: str
    content: bytes


class Target(NamedTuple):
    """How inputs are made, and what is done with them in a folder."""

    make: Callable[[Random], Input]
    run: Callable[[Input, Path], Any]
    seconds: float = 1.0  # of processor time


# Robots -------------------------------------------------------------------------------------------------------------


def robot_data(random: Random) -> dict[str, Any]:
    if random.random() < 0.15:
        data = tomllib.loads(random.choice(sorted(ROBOTS.glob("*.toml"))).read_text())
        return {**data, "link": data["link"][:3]}
    convention = random.choice(("standard_dh", "modified_dh", "frames"))
    data: dict[str, Any] = {"name": "r", "convention": convention, "gravity": [0.0, 0.0, -9.81]}
    if random.random() < 0.2:
        data |= {"fidelity": random.choice(("spong", "complete")), "rotors_in_links": False, "tool": "link1"}
    links = []
    for k in range(random.choice((1, 1, 2, 3))):
        link = {**LINK, **random.choice((FURTHER, {}))}
        if data["convention"] == "frames":
            del link["a"]
            link |= FRAME | {"name": f"arm{k}", "parent": f"arm{k - 1}" if k else "base"}
        link |= {"parallel_spring": random.choice(PARALLEL)} if random.random() < 0.2 else {}
        links.append(link | ({"drive": random.choice(DRIVES)} if random.random() < 0.8 else {}))
    return {**data, "link": links}


def make_robot(random: Random) -> Input:
    data = robot_data(random)
    if random.random() < 0.9:
        data = changed(data, random, ROBOT_KEYS)
    content = toml(data).encode()
    return Input("robot.toml", damaged(content, random) if random.random() < 0.3 else content)


def run_robot(given: Input, folder: Path) -> Any:
    robot = parse_robot(given.content, given.name)
    if len(given.content) % 4 == 0:  # what was read is written and read again, to the last bit
        again = parse_robot(robot_text(robot).encode(), "again")
        assert again == robot, "a robot that was written and read is another one"
    return repr(robot)


# Drive files --------------------------------------------------------------------------------------------------------

TABLES = [{"name": "*", "drive": drive} for drive in DRIVES]
TABLES += [
    {"name": ["joint1", "joint?"], **FURTHER},
    *({"name": "joint2", "parallel_spring": spring} for spring in PARALLEL[:3]),
    {"name": "joint[12]", "drive": {"stiffness": 800.0, "motor_limits": {"torque": 9.0}}, "trust": "chosen"},
    {"name": "joint2", "drive": {"spring": SPRINGS[1]}, "trust": "identified", "origin": "a log", "note": "cold"},
    {"name": "joint1", "drive": {"kind": "none"}},
    {"name": "joint2", "drive": {"kind": "rigid"}},
]
DRIVE_FILE_KEYS = [*drive_files.TOP_KEYS, *drive_files.SOURCE_KEYS, *ROBOT_KEYS]


def make_drives(random: Random) -> Input:
    tables = random.choices(TABLES, k=random.choice((1, 1, 2, 3)))
    data = {"format": "flexjoint-drives", "version": 1, "robot": "two", "joint": tables}
    if random.random() < 0.75:
        data = changed(data, random, DRIVE_FILE_KEYS)
    content = toml(data).encode()
    return Input("x.drives.toml", damaged(content, random) if random.random() < 0.2 else content)


def run_drives(given: Input, folder: Path) -> Any:
    file = drive_files.DriveFile.read(placed(given, folder))
    robot = file.applied(TWO)
    if len(given.content) % 4 == 0:  # the template of the result gives the result
        again = drive_files.DriveFile.new(robot).applied(robot)
        assert again == robot, "a template changes the robot it is of"
    if len(given.content) % 4 == 1:
        file.with_value("joint1", "drive.damping", 2.0)
    return worst_trust(robot)


# URDF ---------------------------------------------------------------------------------------------------------------


def make_urdf(random: Random) -> Input:
    return Input("robot.urdf", changed_xml(random.choice(URDFS), URDF_NAMES, random))


def changed_xml(text: str, names: list[str], random: Random) -> bytes:
    """A small XML file with values, names, tags and whole elements changed, removed, doubled and exchanged."""
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        pattern = ATTRIBUTE if random.random() < 0.7 else ELEMENT
        found = list(pattern.finditer(text))
        if not found:
            break
        place, other = random.choice(found), random.choice(found)
        what = random.random()
        new = ""
        if pattern is ATTRIBUTE and what < 0.6:
            x = value(random)
            word = random.choice(URDF_WORDS) if random.random() < 0.1 else x if isinstance(x, str) else inline(x)
            new = f'{place.group(1)}="{" ".join([word] * random.choice((1, 1, 1, 2, 3, 3)))}"'
        elif pattern is ATTRIBUTE and what < 0.7:
            new = place.group().replace(place.group(1), random.choice(names))
        elif what < 0.85:
            new = other.group()
        elif what < 0.95 and pattern is ELEMENT:
            new = place.group() * random.choice((2, 2, 50))
        text = text[: place.start()] + new + text[place.end() :]
    if random.random() < 0.05:
        text = random.choice(PROLOGUES) + text
    content = text.encode(random.choice(("utf-8",) * 9 + ("utf-16", "latin-1")), "replace")
    return damaged(content, random) if random.random() < 0.25 else content


def run_urdf(given: Input, folder: Path) -> Any:
    length = len(given.content)
    locked = {"waist": 0.3} if length % 5 == 0 and b"waist" in given.content else None
    found = parse_urdf(given.content, given.name, locked=locked, tip="palm" if length % 17 == 0 else None)
    if length % 4 == 0:
        again = parse_robot(robot_text(found.robot).encode(), "again")
        assert again == found.robot, "a robot that was written and read is another one"
    return [str(x) for x in found.report]


# MJCF ---------------------------------------------------------------------------------------------------------------


def make_mjcf(random: Random) -> Input:
    return Input("robot.xml", changed_xml(random.choice(MJCFS), MJCF_NAMES, random))


def run_mjcf(given: Input, folder: Path) -> Any:
    length = len(given.content)
    locked = {"pan": 0.3} if length % 5 == 0 and b'"pan"' in given.content else None
    found = parse_mjcf(given.content, str(folder / given.name), locked=locked, tip="boom" if length % 17 == 0 else None)
    if length % 4 == 0:
        again = parse_robot(robot_text(found.robot).encode(), "again")
        assert again == found.robot, "a robot that was written and read is another one"
    return [str(x) for x in found.report]


# Tables of numbers --------------------------------------------------------------------------------------------------


def cell(random: Random) -> str:
    x = value(random)
    return x if isinstance(x, str) else inline(x)


def csv(heads: list[str], table: np.ndarray, random: Random) -> bytes:
    mark = random.choice((",", ",", ";", "\t", " "))
    lines = [[*heads]] if random.random() < 0.9 else []
    lines += [[repr(float(x)) for x in row] for row in table]
    for _ in range(random.choice((0, 0, 1, 2))):
        line = random.choice(lines)
        if line:
            line[random.randrange(len(line))] = cell(random)
    if random.random() < 0.1:
        lines.insert(random.randrange(len(lines)), random.choice(([], ["# remark"], ["x"] * 50)))
    return random.choice(("\n", "\n", "\r\n", "\r")).join(mark.join(line) for line in lines).encode()


def array(x: np.ndarray, random: Random) -> np.ndarray:
    what = random.random()
    if what < 0.6:
        return x
    if what < 0.7:
        number = min(max(random.choice(NUMBERS), -1e308), 1e308)
        return np.where(np.arange(x.size).reshape(x.shape) == random.randrange(x.size), number, x)
    if what < 0.8:
        return x[: random.randrange(len(x) + 1)]
    if what < 0.9:
        return x.astype(random.choice(("f4", "i8", "u1", "?", ">f8", "f2", "c16", "U5", "O", "g")), copy=True)
    return x.reshape(random.choice(((-1,), (1, -1), (-1, 1), (1, 1, -1))))


def npz(arrays: dict[str, np.ndarray], random: Random) -> bytes:
    buffer = io.BytesIO()
    chosen = {name or "x": array(x, random) for name, x in arrays.items() if random.random() < 0.97}
    save = random.choice((np.savez, np.savez_compressed))
    save(buffer, **{name.replace("\x00", "").replace("/", "")[:200] or "x": x for name, x in chosen.items()})
    return buffer.getvalue()


def parquet(arrays: dict[str, np.ndarray], random: Random) -> bytes:
    import pyarrow
    from pyarrow.parquet import write_table

    columns = [pyarrow.array(x) for x in arrays.values()]
    if random.random() < 0.3:
        kinds = (pyarrow.string(), pyarrow.float32(), pyarrow.int64(), pyarrow.decimal128(38, 3))
        at = random.randrange(len(columns))
        columns[at] = columns[at].cast(random.choice(kinds), safe=False)
    buffer = io.BytesIO()
    compression = random.choice(("none", "snappy", "zstd", "gzip"))
    write_table(pyarrow.Table.from_arrays(columns, names=[*arrays]), buffer, compression=compression)
    return buffer.getvalue()


def table(heads: list[str], columns: np.ndarray, random: Random, kinds: tuple[str, ...]) -> Input:
    """A file of columns of one of these kinds."""
    for _ in range(random.choice((0, 0, 1, 2))):
        heads[random.randrange(len(heads))] = random.choice(HEADS)
    kind = random.choice(kinds)
    if kind == "csv":
        content = csv(heads, columns, random)
    elif kind == "npz" and random.random() < 0.5:
        content = npz({"t": columns[:, 0], "q": columns[:, 1:3], "tau": columns[:, 1:3]}, random)
    elif kind == "npz":
        content = npz(dict(zip(heads, columns.T)), random)
    elif kind == "mcap":
        content = mcap(heads[1:], columns, random)
    else:
        content = parquet(dict(zip(heads, columns.T.copy())), random)
    return Input(f"table.{kind}", damaged(content, random) if random.random() < 0.4 else content)


def mcap(heads: list[str], columns: np.ndarray, random: Random) -> bytes:
    """An MCAP file of joint states of ROS 2, or of messages in JSON."""
    from mcap.writer import CompressionType, Writer
    from mcap_ros2.writer import Writer as RosWriter

    file = io.BytesIO()
    packed, small = random.choice(list(CompressionType)), random.choice((200, 1 << 20))
    stamps = [int(1e9 * t) for t in columns[:, 0]]
    if random.random() < 0.5:
        states = RosWriter(file, chunk_size=small, compression=packed)
        kind = states.register_msgdef(
            "sensor_msgs/msg/JointState", "string[] name\nfloat64[] position\nfloat64[] effort"
        )
        for t, row in zip(stamps, columns):
            message = {"name": ["joint1", random.choice(HEADS)], "position": list(row[1:3]), "effort": list(row[3:5])}
            states.write_message("/joint_states", kind, message, log_time=t, publish_time=t)
        states.finish()
        return file.getvalue()
    writer = Writer(file, chunk_size=small, compression=packed)
    writer.start()
    channel = writer.register_channel("/state", "json", writer.register_schema("state", "jsonschema", b"{}"))
    for t, row in zip(stamps, columns):
        writer.add_message(channel, t, json.dumps(dict(zip(heads, row[1:]))).encode(), t)
    writer.finish()
    return file.getvalue()


# Trajectories and stiffnesses ---------------------------------------------------------------------------------------


def make_samples(random: Random) -> Input:
    return table(["t", "q1", "q2"], np.column_stack([TIMES, MOTION + 5.0]), random, ("csv", "npz"))


def make_motion(random: Random) -> Input:
    data = random.choice(TRAJECTORIES)
    content = toml(changed(data, random, TRAJECTORY_KEYS) if random.random() < 0.95 else data)
    return Input("motion.toml", damaged(content.encode(), random) if random.random() < 0.3 else content.encode())


def make_stiffness(random: Random) -> Input:
    """A motion that is not one of a robot's frame: those are refused for stiffnesses."""
    found = make_motion(random)
    while any(x in found.content for x in (b"cartesian", b"pose", b'"arc"', b'"line"')):
        found = make_motion(random)
    return found


def placed(given: Input, folder: Path) -> Path:
    path = folder / given.name
    path.write_bytes(given.content)
    good = folder / "good.csv"
    if not good.exists():
        rows = "\n".join(f"{t},{x},{y}" for t, (x, y) in zip(TIMES, MOTION + 5.0))
        good.write_text(f"t,q1,q2\n{rows}\n")
    return path


def run_trajectory(given: Input, folder: Path) -> Any:
    motion = fj.trajectory.load_trajectory(placed(given, folder), TWO)
    return motion(motion.duration * np.linspace(0.0, 1.0, 5), 4)


def run_stiffness(given: Input, folder: Path) -> Any:
    path = placed(given, folder)
    motion = fj.trajectory.load_stiffness(path, VARIABLE)
    return motion(motion.duration * np.linspace(0.0, 1.0, 5), 2)


# Logs ---------------------------------------------------------------------------------------------------------------


def make_log(random: Random, kind: str) -> Input:
    wanted = random.choice((("q", "tau"), ("q", "v", "tau"), ("theta", "tau"), ("q", "theta", "tau_e", "tau")))
    wanted = random.choice((wanted, ("position", "effort"), ("actual_q", "target_q", "current"), ("mp", "mt", "ip")))
    forms = random.choice(("{0}{1}", "{0}_{1}", "{0}.joint{1}", "joint{1}.{0}", "/joint_states/{0}[{1}]"))
    heads = ["t", *(forms.format(what, k) for what in wanted for k in (1, 2))]
    columns = np.column_stack([TIMES, *([MOTION] * len(wanted))])
    return table(heads, columns, random, (kind,))


def run_log(given: Input, folder: Path) -> Any:
    log = fj.logs.read_log(placed(given, folder), TWO)
    return log.known, log.commands, log.period


# Poses, samples of studies, meshes ----------------------------------------------------------------------------------

POSES: list[dict[str, Any]] = [
    {"position": [0.4, 0.0, 0.5], "rpy_deg": [180.0, 0.0, 0.0]},
    {"position": [0.4, 0.1, 0.5], "quaternion": [0.0, 1.0, 0.0, 0.0]},
    {"position": [0.4, 0.2, 0.5], "rpy": [0.1, 0.2, 0.3]},
]
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def make_poses(random: Random) -> Input:
    if random.random() < 0.5:
        heads = random.choice((["x", "y", "z", "roll", "pitch", "yaw"], ["x [mm]", "y", "z", "qw", "qx", "qy", "qz"]))
        return table(heads, np.tile(0.5 + MOTION[:, :1], len(heads)), random, ("csv",))
    tables = random.choices(POSES, k=random.choice((1, 2, 3)))
    content = toml(changed({"pose": tables}, random, ["position", "rpy", "rpy_deg", "quaternion"])).encode()
    return Input("poses.toml", damaged(content, random) if random.random() < 0.3 else content)


def run_poses(given: Input, folder: Path) -> Any:
    return repr(fj.kinematics.load_poses(placed(given, folder)))


def make_study(random: Random) -> Input:
    heads = ["sample", "largest", "rms", "end", "seed"]
    columns = np.column_stack([np.arange(30.0), np.tile(MOTION, 2)])
    return table(heads, columns, random, ("csv", "parquet"))


def run_study(given: Input, folder: Path) -> Any:
    return read_study(placed(given, folder))


def make_mesh(random: Random) -> Input:
    kind = random.choice(("stl", "stl", "obj"))
    if kind == "obj":
        lines = [f"v {' '.join(map(str, x))}" for x in CORNERS] + [f"f {' '.join(map(str, x + 1))}" for x in FACES]
        content = "\n".join(lines).encode()
    else:
        content = bytes(80) + len(FACES).to_bytes(4, "little")
        content += b"".join(bytes(12) + CORNERS[x].astype("<f4").tobytes() + bytes(2) for x in FACES)
    return Input(f"mesh.{kind}", damaged(content, random) if random.random() < 0.8 else content)


def run_mesh(given: Input, folder: Path) -> Any:
    return read_mesh(str(placed(given, folder)))


# Work ---------------------------------------------------------------------------------------------------------------

SIMPLE = {"kind": "rest_to_rest", "goal": 0.1, "duration": 1.0}
ARC: dict[str, Any] = {"kind": "arc", "centre": [0.3, 0.5, 0], "axis": [0, 0, 1], "speed": 0.1, **FREE}
PAIRS = [SPRINGS[k] for k in (1, 2, 6, 7)]


def make_work(random: Random) -> Input:
    """Small files that ask for much: turns, harmonics, nested motions, long chains, chunks that unpack to gigabytes."""
    size = int(10 ** random.uniform(0, 4))
    inner: dict[str, Any] = SIMPLE
    for _ in range(random.randrange(12)):
        shaper = {"shaper": random.choice(("zv", "zvd")), "frequency": [1.0, 2.3, 3.7][: random.randrange(1, 4)]}
        inner = {"kind": "shaped", "motion": inner, **shaper}
    dwell = [{"by": [0.001, 0, 0]}, {"dwell": 0.1}, {"by": [-0.001, 0, 0]}, {"dwell": 0.1}]
    breaks = sorted(10 ** random.uniform(-320, 307) for _ in range(3))
    law = {"kind": "time_law", "breaks": [0.0, *breaks], "slopes": [1 / max(breaks)] * 7, "degree": 4}
    spring = random.choice(PAIRS)
    motors = {"drive": {"kind": "antagonistic", "spring_1": spring, "spring_2": spring, **BOTH}}
    motions = [
        {**ARC, "angle": 10 ** random.uniform(0, 300)},
        {"kind": "fourier", "frequency": 0.5, "cosine": [[0.0, 0.1]] * size, "sine": [[0.1, 0.0]] * size},
        {"kind": "sinusoid", "frequency": 0.5, "amplitude": [[0.0, 0.1]] * size},
        {"kind": "joined", "pieces": [inner] * min(size, 300)},
        {"kind": "cartesian", "segments": dwell * min(size, 250), "start": [0.3, 0.9], "orientation": "free"}
        | {"duration": 9.0},
        {"kind": "retimed", "path": inner, "law": law},
    ]
    kind = random.randrange(9)
    if kind < 6:
        return Input("motion.toml", toml(motions[kind]).encode())
    if kind == 6:
        links = [{**LINK, **random.choice((DRIVE, motors))}] * min(size, 1200)
        return Input("robot.toml", toml({"name": "r", "convention": "standard_dh", "link": links}).encode())
    return Input("table.mcap", bomb(size, int(10 ** random.uniform(0, 6)), random))


def bomb(count: int, size: int, random: Random) -> bytes:
    """An MCAP file of up to 200 MB of blanks."""
    from mcap.writer import CompressionType, Writer

    file = io.BytesIO()
    writer = Writer(file, chunk_size=random.choice((1 << 16, 1 << 20, 1 << 40)), compression=CompressionType.ZSTD)
    writer.start()
    channel = writer.register_channel("/state", "json", writer.register_schema("state", "jsonschema", b"{}"))
    for t in range(min(count, 200_000_000 // size)):
        writer.add_message(channel, t, b'{"q1":0.0,' + b" " * size + b'"q2":0.0,"tau1":1,"tau2":1}', t)
    writer.finish()
    return file.getvalue()


def run_work(given: Input, folder: Path) -> Any:
    if given.name == "robot.toml":
        return fj.analysis.check_robot(parse_robot(given.content, given.name))
    return (run_log if given.name.endswith("mcap") else run_trajectory)(given, folder)


TARGETS = {
    "robot": Target(make_robot, run_robot),
    "urdf": Target(make_urdf, run_urdf),
    "mjcf": Target(make_mjcf, run_mjcf),
    "drives": Target(make_drives, run_drives),
    "trajectory": Target(make_motion, run_trajectory),
    "stiffness": Target(make_stiffness, run_stiffness),
    "samples": Target(make_samples, run_trajectory),
    "csv": Target(partial(make_log, kind="csv"), run_log),
    "npz": Target(partial(make_log, kind="npz"), run_log),
    "parquet": Target(partial(make_log, kind="parquet"), run_log),
    "mcap": Target(partial(make_log, kind="mcap"), run_log),
    "poses": Target(make_poses, run_poses),
    "study": Target(make_study, run_study),
    "mesh": Target(make_mesh, run_mesh),
    "work": Target(make_work, run_work, seconds=5.0),
}
