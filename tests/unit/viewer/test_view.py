"""What the viewer shows: poses, bodies, meshes from anywhere, motions of any source, the clock, the guarded server."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.formats import Geometry
from flexjoint.viewer.joint_plot import readable
from flexjoint.viewer.labels import label, paragraph
from flexjoint.viewer.link_poses import all_link_poses, quaternions
from flexjoint.viewer.mesh_files import read_mesh
from flexjoint.viewer.motion import motions_of
from flexjoint.viewer.motor_positions import undeflected_links
from flexjoint.viewer.playback import Playback
from flexjoint.viewer.shapes import box, cylinder, robot_bodies, round_body, shrunk
from flexjoint.viewer.statics import Statics

ROBOT = fj.load("hua_3r")
MOTION = fj.trajectory.RestToRest([0.0] * 3, [0.5, 0.4, 0.3], duration=0.2)
COLLADA = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="millimeter" meter="0.001"/><up_axis>Y_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="t"><lambert><diffuse><color>1 0 0 1</color></diffuse>
</lambert></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="9">0 0 0 1000 0 0 0 2000 0
</float_array><technique_common><accessor source="#a" count="3" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="1" material="s"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="w"><node>
<translate>0 0 3000</translate><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="s" target="#m"/></technique_common></bind_material></instance_geometry></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#w"/></scene></COLLADA>"""


@pytest.fixture(scope="module")
def run():
    return fj.simulate(ROBOT, fj.control.MotorPD(ROBOT, [400.0, 40.0]), MOTION)


# Poses --------------------------------------------------------------------------------------------------------------


def test_poses_and_quaternions_are_those_of_forward_kinematics():
    robot = fj.random_robot(5, seed=2, prismatic=0.4)
    q = np.random.default_rng(1).normal(size=(4, 5))
    found = all_link_poses(robot, q)
    for i, link in enumerate(robot.links):
        wanted = fj.forward_kinematics(robot, q, link=link.name)
        assert np.allclose(found.position[:, i], wanted.position, atol=1e-14)
        assert np.allclose(found.rotation[:, i], wanted.rotation, atol=1e-14)
    half_turns = np.array([np.diag(x) for x in ([1.0, -1, -1], [-1.0, 1, -1], [-1.0, -1, 1], [1.0, 1, 1])])
    w, x, y, z = np.moveaxis(quaternions(np.concatenate([found.rotation.reshape(-1, 3, 3), half_turns])), -1, 0)
    first = np.stack([1 - 2 * (y**2 + z**2), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=-1)  # R e_x
    third = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x**2 + y**2)], axis=-1)  # R e_z
    R = np.concatenate([found.rotation.reshape(-1, 3, 3), half_turns])
    assert np.allclose(first, R[:, :, 0], atol=1e-14) and np.allclose(third, R[:, :, 2], atol=1e-14)


def test_motors_stand_where_no_spring_would_be_deflected():
    state = fj.simulation.at_rest(ROBOT, [0.1, 0.2, 0.3])
    assert np.array_equal(undeflected_links(ROBOT, state.theta), state.theta)
    held = Statics(ROBOT)
    assert np.allclose(held.theta(state.q), state.theta, atol=1e-13)
    stiffness = ROBOT.joints[2].drive.stiffness
    force = held.theta(state.q, 20.0) - state.theta
    lever = fj.jacobian(ROBOT, state.q)[:3, 2] @ held.down
    assert np.allclose(force[2], -20.0 * lever / stiffness, rtol=1e-9), "the spring carries Jᵀf more"
    assert np.all(force[:2] == 0), "rigid joints do not deflect"
    assert Statics(ROBOT.rigid()).theta(state.q) is None
    pulled = fj.load("qbmove_arm")
    assert Statics(pulled).theta(np.full(pulled.n, 0.4)).shape == (pulled.motor_count,)


# Bodies -------------------------------------------------------------------------------------------------------------


def volume(mesh):
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


def test_bodies_face_outwards_and_have_their_volume():
    polygon = 10 * np.sin(np.pi / 10)  # area of the 20-sided polygon in a unit circle
    assert np.isclose(volume(box((1.0, 2.0, 3.0))), 6.0)
    assert np.isclose(volume(cylinder(1.0, 2.0)), 2 * polygon)
    assert 0.9 < volume(round_body(1.0, 0.0)) / (4 / 3 * np.pi) < 1
    ball = round_body(1.0, 1.0)
    assert np.allclose(ball.vertices.min(axis=0)[2], -1.5) and np.allclose(ball.vertices.max(axis=0)[2], 1.5)
    assert np.allclose(np.linalg.norm(shrunk(round_body(1.0, 0.0), 0.25), axis=1), 0.75, atol=1e-3)


@pytest.mark.parametrize("name", ["kuka_lwr", "vsa_3r", "anymal_leg"])
def test_capsules_join_each_link_to_its_children(name):
    robot = fj.load(name)
    drawn = robot_bodies(robot, {})
    assert drawn.size > 0 and drawn.missing == ()
    for i, link in enumerate(robot.links):
        own = np.concatenate([x.mesh.vertices for x in drawn.bodies if x.link == i])
        for child in (x for x in robot.links if x.parent == link.name):
            distance = np.min(np.linalg.norm(own - child.joint.position, axis=1))
            assert distance < 0.1 * drawn.size, "a capsule ends where the next joint begins"


def test_sizes_of_robots_of_any_length():
    for n in (1, 30):
        chain = fj.random_robot(n, seed=1, prismatic=0.3)
        assert {x.link for x in robot_bodies(chain, {}).bodies} == {-1, *range(len(chain.links))}


def shape(kind, size, **more):
    given = {"link": "link1", "role": "visual", "file": "", "path": None}
    given |= {"position": np.zeros(3), "rotation": np.eye(3)}
    return Geometry(kind=kind, size=size, line=3, **{**given, **more})


def test_geometry_of_the_file_is_drawn_in_the_frame_of_its_link(tmp_path):
    pytest.importorskip("trimesh")
    pytest.importorskip("collada")
    (tmp_path / "red.dae").write_text(COLLADA)
    turned = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    pose = {"position": np.array([0.0, 0, 1]), "rotation": turned}
    mesh = shape("mesh", (2.0, 2.0, 2.0), path=str(tmp_path / "red.dae"), **pose)
    drawn = robot_bodies(ROBOT, {ROBOT.links[0].name: [mesh, shape("sphere", (0.1,), role="collision")]})
    first = [x.mesh for x in drawn.bodies if x.link == 0]
    assert len(first) == 1 and first[0].colour == (255, 0, 0)
    assert np.allclose(first[0].vertices, [[0, 0, 7], [0, 2, 7], [-4, 0, 7]]), "unit, scale, rotation, position"
    hull = robot_bodies(ROBOT, {ROBOT.links[0].name: [mesh, shape("sphere", (0.1,), role="collision")]}, "collision")
    assert max(np.abs(x.mesh.vertices).max() for x in hull.bodies if x.link == 0) < 0.11
    mirrored = shape("mesh", (-1.0, 1.0, 1.0), path=str(tmp_path / "red.dae"))
    assert robot_bodies(ROBOT, {ROBOT.links[0].name: [mirrored]}).bodies[-1].mesh.faces.shape[1] == 3


def test_what_cannot_be_drawn_is_reported_and_becomes_a_capsule(tmp_path):
    pytest.importorskip("trimesh")
    name = ROBOT.links[0].name
    whole = robot_bodies(ROBOT, {})
    for wrong in (
        shape("mesh", (1.0,) * 3, file="package://gone/x.stl"),
        shape("mesh", (1.0,) * 3, path=str(tmp_path / "x.blend")),
        shape("sphere", (np.inf,)),
        shape("pyramid", (1.0,)),
    ):
        drawn = robot_bodies(ROBOT, {name: [wrong]})
        assert len(drawn.missing) == 1 and "capsule" in drawn.missing[0]
        own = [[x.mesh.vertices.shape for x in y.bodies if x.link == 0] for y in (drawn, whole)]
        assert own[0] == own[1]


@pytest.mark.parametrize(
    "content, reason",
    [
        (b"solid \nfacet normal 0 0 x\nouter loop\nvertex 0 0 0\nendloop\nendfacet\n", "triangles|not a mesh"),
        (struct.pack("<80sI", b"", 2**31), "not a mesh|triangles"),
        (struct.pack("<80sI12fH", b"", 1, *[0.0] * 3, *[np.nan] * 9, 0), "finite|triangles"),
        (b"", "not a mesh|triangles"),
    ],
    ids=["text", "count", "numbers", "empty"],
)
def test_damaged_meshes_are_refused(tmp_path, capfd, content, reason):
    pytest.importorskip("trimesh")
    (tmp_path / "x.stl").write_bytes(content)
    with pytest.raises(fj.InputError, match=reason):
        read_mesh(str(tmp_path / "x.stl"))
    assert capfd.readouterr() == ("", ""), "trimesh logs nothing"


@pytest.mark.parametrize(
    "old, new, reason",
    [
        ('<?xml version="1.0"?>', '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]>', "DOCTYPE"),
        ("<translate>", '<instance_node url="#w"/><translate>', "instance_node"),
        ('meter="0.001"', 'meter="1e300"', "unit"),
        ("<p>0 1 2</p>", "<p>0 1 9</p>", "not a mesh|finite|triangles"),
        ("<COLLADA", "<COLLADA<", "not a mesh"),
    ],
)
def test_collada_files_cannot_grow_or_open_others(tmp_path, old, new, reason):
    pytest.importorskip("collada")
    (tmp_path / "x.dae").write_text(COLLADA.replace(old, new, 1))
    with pytest.raises(fj.InputError, match=reason):
        read_mesh(str(tmp_path / "x.dae"))


def test_large_meshes_are_refused(tmp_path, monkeypatch):
    pytest.importorskip("trimesh")
    faces = np.zeros((4, 50), dtype=np.uint8)
    for k in range(4):
        faces[k, 12:48] = np.frombuffer(struct.pack("<9f", 0, 0, k, 1, 0, k, 0, 1, k), dtype=np.uint8)
    (tmp_path / "x.stl").write_bytes(struct.pack("<80sI", b"", 4) + faces.tobytes())
    assert len(read_mesh(str(tmp_path / "x.stl"))[0].faces) == 4
    for limit, value in (("mesh_faces", 3), ("mesh_bytes", 100)):
        monkeypatch.setenv("FLEXJOINT_LIMITS", f"{limit}={value}")
        with pytest.raises(fj.InputError, match=f"coarser.*{limit}="):
            read_mesh(str(tmp_path / "x.stl"))
        monkeypatch.undo()


def test_geometry_stays_with_the_robot_that_was_loaded(tmp_path):
    text = """<robot name="r"><link name="world"><visual><geometry><sphere radius="1"/></geometry></visual></link>
    <link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
    <visual><geometry><box size="1 2 3"/></geometry></visual></link>
    <joint name="j" type="continuous"><parent link="world"/><child link="base"/></joint></robot>"""
    (tmp_path / "r.urdf").write_text(text)
    first, second = (fj.load(tmp_path / "r.urdf") for _ in range(2))
    assert first == second
    del first
    found = fj.formats.file_geometry(second)
    assert {name: x[0].kind for name, x in found.items()} == {"base": "sphere", "base_frame": "box"}
    assert fj.formats.file_geometry(ROBOT) == {}


# Motions ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["nc", "csv", "npz", "parquet"])
def test_runs_are_read_from_files_with_reference_and_motors(tmp_path, run, suffix):
    fj.results.write_results(run, tmp_path / f"run.{suffix}")
    found = fj.viewer.read_motion(tmp_path / f"run.{suffix}", ROBOT)
    for name in ("t", "q", "theta", "tau", "reference"):
        assert np.array_equal(getattr(found, name), getattr(run, name)), name
    assert found.title == f"run.{suffix}" and found.residual is None and found.notes == ()


def test_residual_base_and_contact_of_a_run(tmp_path):
    base = fj.trajectory.load_base('{kind = "sinusoid", amplitude = [0, 0, 0.1, 0.1, 0, 0], frequency = 2}', ROBOT)
    observer = fj.observers.JointTorqueResidual(ROBOT, 30.0, 90.0)
    law = fj.control.MotorPD(ROBOT, [400.0, 40.0])
    run = fj.simulate(ROBOT, law, MOTION, base=base, observers={"watch": observer})
    motion = motions_of(ROBOT, run)[0]
    assert np.array_equal(motion.residual, run.more["watch.link"])
    for suffix in ("csv", "npz"):
        fj.results.write_results(run, tmp_path / f"run.{suffix}")
        found = fj.viewer.read_motion(tmp_path / f"run.{suffix}", ROBOT)
        assert np.array_equal(found.residual, motion.residual) and np.array_equal(found.base, run.more["base"])
    explained = np.einsum("mij,mi->mj", fj.jacobian(ROBOT, motion.q), motion.contact)
    assert np.allclose(explained[5:], motion.residual[5:], atol=1e-6 * np.abs(motion.residual).max())


def test_trajectories_show_the_motors_that_they_need():
    found = fj.viewer.read_motion('{kind = "rest_to_rest", goal = 0.4, duration = 0.2}', ROBOT)
    motors = fj.inverse_dynamics_along(ROBOT, fj.trajectory.RestToRest([0.0] * 3, [0.4] * 3, duration=0.2), found.t)
    assert np.allclose(found.theta, motors.theta) and np.allclose(found.deflection, motors.deflection)
    with pytest.raises(fj.InputError, match="stiffness"):
        fj.viewer.read_motion('{kind = "rest_to_rest", goal = 0.1, duration = 1}', fj.load("vsa_3r"))


def test_a_table_of_positions_is_a_trajectory_and_one_with_torques_a_log(tmp_path):
    t = np.arange(0, 0.5, 0.01)
    q = 0.1 * (1 - np.cos(4 * np.pi * t))[:, None] * np.ones(3)
    names = [joint.name for joint in ROBOT.joints]
    table = {"plan.csv": (q, [f"q.{x}" for x in names]), "log.csv": (np.hstack([q, q]), None)}
    table["log.csv"] = (np.hstack([q, q]), [f"{y}.{x}" for y in ("q", "tau") for x in names])
    for file, (values, header) in table.items():
        rows = np.column_stack([t, values])
        np.savetxt(tmp_path / file, rows, delimiter=",", header=",".join(["t", *header]), comments="")
    assert fj.viewer.read_motion(tmp_path / "plan.csv", ROBOT).theta is not None
    log = fj.viewer.read_motion(tmp_path / "log.csv", ROBOT)
    assert log.theta is None and log.motors is None and np.allclose(log.tau, q)


def test_lost_samples_are_left_out_and_many_are_thinned(run):
    log = fj.detection.Log(ROBOT, run.t.copy(), run.q.copy(), theta=run.theta, tau=run.tau)
    log.q[7] = np.nan
    log.t[20] = 0.0
    found = motions_of(ROBOT, log)[0]
    assert len(found.t) == len(run.t) - 2 and np.all(np.diff(found.t) > 0) and "2 of" in found.notes[0]
    t = np.arange(10_000) * 1e-3
    many = motions_of(ROBOT, fj.detection.Log(ROBOT, t, np.zeros((10_000, 3))))[0]
    assert len(many.t) <= 4000 and "1 of 3" in many.notes[0]
    motors = motions_of(ROBOT, fj.detection.Log(ROBOT, run.t, theta=run.theta))[0]
    assert np.array_equal(motors.q, run.theta) and "motors" in motors.notes[0]


def test_what_is_no_motion_is_refused(run):
    with pytest.raises(fj.InputError, match="read_motion"):
        motions_of(ROBOT, np.zeros(3))
    with pytest.raises(fj.InputError, match="at most 9"):
        motions_of(ROBOT, [run] * 10)
    with pytest.raises(fj.InputError, match="3 joints and the robot 7"):
        motions_of(fj.load("kuka_lwr"), run)
    with pytest.raises(fj.InputError, match="fewer than two"):
        motions_of(ROBOT, fj.detection.Log(ROBOT, run.t, np.full_like(run.q, np.nan)))


def test_the_clock_runs_stops_and_begins_again():
    clock = Playback([np.array([0.0, 0.1, 0.4, 1.0]), np.array([0.0, 2.0])], speed=2.0)
    clock.advance(0.1)
    assert clock.t == 0.0
    clock.playing = True
    clock.advance(0.1)
    assert clock.t == 0.2 and [clock.sample(k) for k in (0, 1)] == [1, 0]
    clock.seek(0.3)
    assert clock.sample(0) == 2
    clock.seek(99.0)
    assert clock.t == 2.0 and [clock.sample(k) for k in (0, 1)] == [3, 1]
    clock.advance(0.1)
    assert clock.t == 0.0


# Names --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "\x1b[2J\x07", "a" * 100_000, "‮\u200b"])
def test_names_become_short_harmless_text(name):
    shown, markup = label(name), paragraph(name)
    assert len(shown) <= 40 and shown.isprintable()
    assert len(markup) < 2600 and "<script" not in markup and "\x1b" not in markup
    assert label("joint1") == "joint1"


def wait_for(done):
    """Wait until something is so, at most 20 s."""
    end = time.monotonic() + 20
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


# The server ---------------------------------------------------------------------------------------------------------


def test_the_viewer_answers_its_own_page_alone(capfd, monkeypatch):
    viser = pytest.importorskip("viser")
    from urllib.request import Request, urlopen

    import msgspec
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    with fj.viewer.view(ROBOT, port=0) as viewer:
        assert viewer.url.startswith("http://127.0.0.1:")
        address = viewer.url.replace("http", "ws")
        page = urlopen(viewer.url).read()
        assert b"<html" in page[:500].lower()
        for headers in ({"Host": "evil.example"}, {"Host": "127.0.0.1"}, {"Origin": "http://evil.example"}):
            with pytest.raises(OSError, match="403"):
                urlopen(Request(viewer.url, headers=headers))
        protocol = [f"viser-v{viser.__version__}"]
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
            with pytest.raises(InvalidStatus, match="403"):
                connect(address, origin=origin, subprotocols=protocol)
        with connect(address, origin=viewer.url, subprotocols=protocol) as socket:
            assert len(socket.recv(timeout=10)) > 0
            asked = []
            monkeypatch.setattr(viewer._server, "request_share_url", lambda: asked.append(1))
            socket.send(msgspec.msgpack.encode({"type": "ShareUrlRequest"}))
            wait_for(lambda: asked)  # so it is this method that a page would call
            monkeypatch.undo()
            assert viewer._server.request_share_url() is None and viewer._server._share_tunnel is None
        with pytest.raises(fj.InputError, match="in use"):
            fj.viewer.view(ROBOT, port=int(viewer.url.rpartition(":")[2]))
        viewer.pose([0.1, 0.2, 0.3], load=5.0)
        assert np.array_equal(viewer.q, [0.1, 0.2, 0.3]) and viewer.theta is not None
        with pytest.raises(fj.InputError, match="there is no motion"):
            viewer.play()
    for host in ("0.0.0.0", "192.168.0.1", "example.org"):
        with pytest.raises(fj.InputError, match=r"127\.0\.0\.1 alone"):
            fj.viewer.view(ROBOT, host=host)
    assert capfd.readouterr().out == "", "viser prints nothing"


def test_the_ghost_is_drawn_at_q_plus_magnified_deflections(run):
    pytest.importorskip("viser")
    with fj.viewer.view(ROBOT, [run, run], port=0, magnify=7.0) as viewer:
        viewer.seek(0.1)
        k = int(np.argmin(np.abs(run.t - 0.1)))
        wanted = all_link_poses(ROBOT, run.q[k] + 7.0 * (run.theta[k] - run.q[k])).position
        for scene in viewer._scenes:
            assert np.allclose([x.position for x in scene.motors.frames], wanted, atol=1e-12)
        shown = [x.position for x in viewer._scenes[1].links.frames]
        assert np.allclose(shown, all_link_poses(ROBOT, run.q[k]).position)
        offsets = [scene.root.position for scene in viewer._scenes]
        assert np.linalg.norm(offsets[1] - offsets[0]) > 0.5, "side by side"
        viewer.magnify = 1.0
        moved = [x.position for x in viewer._scenes[0].motors.frames]
        assert np.allclose(moved, all_link_poses(ROBOT, run.theta[k]).position, atol=1e-12)
        viewer.switch("motors", False)
        assert not viewer._scenes[0].motors.root.visible
        with pytest.raises(fj.InputError, match="centres of mass"):
            viewer.switch("everything")


def test_followers_and_sliding_joints_have_sliders_within_their_limits():
    pytest.importorskip("viser")
    body = {"mass": 1.0, "com": [0.1, 0, 0], "inertia": 0.01 * np.eye(3)}
    slide = fj.Joint("slide", "prismatic", limits=fj.Limits(-0.25, 0.5))
    grip = fj.Joint("left", position=(0.2, 0.1, 0), limits=fj.Limits(0.3, 1.2))
    other = fj.Joint("right", position=(0.2, -0.1, 0), mimic=fj.robot.Mimic("left", ratio=-1.0))
    links = [fj.Link("carriage", slide, **body), fj.Link("a", grip, "carriage", **body)]
    robot = fj.Robot("gripper", (*links, fj.Link("b", other, "carriage", **body)))
    with fj.viewer.view(robot, port=0) as viewer:
        sliders = viewer._controls.sliders
        assert [x.label for x in sliders] == ["slide, m", "left, °"]
        assert [(x.min, x.max) for x in sliders] == [(-0.25, 0.5), (17.2, 68.7)]
        assert np.allclose(viewer.q, [0.0, 0.75])


def test_the_page_is_one_file_with_an_escaped_title(tmp_path, run):
    pytest.importorskip("viser")
    named = replace(run, robot=ROBOT.replace(name="</title><script>alert(1)</script>"))
    with fj.viewer.view(named.robot, named, port=0, speed=0.5) as viewer:
        viewer.write_html(tmp_path / "page.html")
        with pytest.raises(fj.InputError, match="at most 2000"):
            viewer.write_html(tmp_path / "page.html", frames=1e5)
        with pytest.raises(fj.InputError, match=r"\.html"):
            viewer.write_html(tmp_path / "page.txt")
    text = (tmp_path / "page.html").read_text()
    assert "alert(1)" not in text.replace("&lt;script&gt;alert(1)", "")
    assert "<title>&lt;/title&gt;" in text
    assert not [x for x in ("src=\"http", "href=\"http") if x in text]


@pytest.mark.parametrize(
    "largest, factor, power", [(3.0, 1.0, ""), (0.0, 1.0, ""), (0.0015, 1e3, "10⁻³"), (3e-5, 1e6, "10⁻⁶")]
)
def test_small_curves_are_shown_in_powers_of_ten(largest, factor, power):
    scale, text = readable(np.array([0.0, np.nan, -largest]))
    assert np.isclose(scale, factor) and text == power


def test_ctrl_c_ends_the_viewer():
    pytest.importorskip("viser")
    command = [sys.executable, "-m", "flexjoint", "view", "hua_3r", "--no-browser", "--port", "0"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
    with subprocess.Popen(command, **streams, preexec_fn=heard) as process:
        try:
            first = process.stderr.readline()
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "http://127.0.0.1:" in first and process.returncode == 0
    assert output == "hua_3r: 3 joints\n" and errors == ""


def test_without_viser_the_message_says_what_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(fj.InputError, match=r"pip install 'flexjoint\[view\]'"):
        fj.viewer.view(ROBOT)


def test_arrows_stand_for_known_forces_and_residuals(run):
    pytest.importorskip("viser")
    motion = replace(motions_of(ROBOT, run)[0], residual=np.tile([0.0, 2.0, -4.0], (len(run.t), 1)))
    wrench = {"link2": [0.0, 0.0, -10.0, 0, 0, 0]}
    with fj.viewer.view(ROBOT, motion, port=0, wrenches=wrench) as viewer:
        viewer.seek(0.0)
        scene, poses = viewer._scenes[0], all_link_poses(ROBOT, run.q[0])
        arrows = scene.arrows["residual"].points
        lengths = np.linalg.norm(arrows[:, 1] - arrows[:, 0], axis=1)
        assert len(arrows) == 2 and np.isclose(lengths[1], 2 * lengths[0], rtol=1e-5), "joint 1 has none"
        places = [ROBOT.link_index("link2"), ROBOT.link_index("link3")]
        assert np.allclose(arrows[:, 0], poses.position[places], atol=1e-6)
        along = [poses.rotation[i] @ ROBOT.links[i].joint.axis for i in places]
        assert np.allclose((arrows[:, 1] - arrows[:, 0]) / lengths[:, None], [along[0], -along[1]], atol=1e-5)
        forces = scene.arrows["force"].points
        assert np.allclose(forces[0, 1], poses.position[ROBOT.link_index("link2")], atol=1e-6), "it ends at the link"
        assert forces[0, 0, 2] > forces[0, 1, 2], "and pushes down"
        viewer.switch("arrows", False)
        assert not scene.arrows["residual"].visible and not scene.arrows["force"].visible
        viewer.switch("arrows")
        viewer.pose(run.q[0], load=20.0)
        assert scene.arrows["force"].visible and not scene.arrows["residual"].visible
    with pytest.raises(fj.InputError, match=r"\(6,\)"):
        fj.viewer.view(ROBOT, motion, port=0, wrenches={"link2": [1.0]})
