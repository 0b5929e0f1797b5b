"""Trajectories from files: each kind is what its class gives, and what is wrong is named with its place and key."""

from __future__ import annotations

import io

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.trajectory.kinds import KINDS as KINDS_OF_FILES, kind as kind_of_files
from support.warned import said

ROBOT = fj.load("hua_3r")  # the third joint is elastic
ELASTIC = fj.load("kuka_lwr")
NAMES = [joint.name for joint in ROBOT.joints]
STAMPS = 5.0 + np.linspace(0.0, 2.0, 41)
RECORD = np.column_stack([np.sin(STAMPS), np.cos(STAMPS), 0.1 * STAMPS])


@pytest.fixture
def write(tmp_path):
    def write(text, name="motion.toml"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def csv(rows, header=None):
    buffer = io.StringIO()
    np.savetxt(buffer, rows, delimiter=",", fmt="%.17g", header=header or "", comments="")
    return buffer.getvalue().lstrip("\n")


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def same(a, b):
    assert type(a) is type(b)
    assert a.duration == b.duration
    assert a.smoothness == b.smoothness
    t = a.duration * np.linspace(0.0, 1.0, 9)
    assert np.array_equal(a(t), b(t))


# Kinds ------------------------------------------------------------------------------------------------------------

SINES = np.array([[0.1, 0.2, 0.3], [0.0, 0.1, 0.0]])
KINDS = [
    (
        'kind = "rest_to_rest"\ngoal = [0.1, 0.2, 0.3]\nduration = 2',
        fj.trajectory.RestToRest(np.zeros(3), [0.1, 0.2, 0.3], 2.0),
    ),
    (
        'kind = "rest_to_rest"\nstart = -1\ngoal_deg = [90, 0, -90]\nduration = 2.5\nsmoothness = 5',
        fj.trajectory.RestToRest(np.full(3, -1.0), [np.pi / 2, 0.0, -np.pi / 2], 2.5, 5),
    ),
    (
        'kind = "sinusoid"\namplitude = 0.4\nfrequency = [0.5, 1, 1]\nphase = 0.1\noffset = [1, 2, 3]\nduration = 4',
        fj.trajectory.Sinusoid(np.full(3, 0.4), [0.5, 1.0, 1.0], 0.1, [1.0, 2.0, 3.0], 4.0),
    ),
    (
        'kind = "sinusoid"\namplitude = [[0.4, 0.1, 0.2], [0.1, 0.1, 0.1]]\nfrequency = [[0.5], [1.5]]',
        fj.trajectory.Sinusoid([[0.4, 0.1, 0.2], [0.1, 0.1, 0.1]], [[0.5], [1.5]]),
    ),
    (
        'kind = "fourier"\nfrequency = 0.2\ncosine = [[0, 0, 0], [0.1, 0, 0]]\nsine = [[0.1, 0.2, 0.3], [0, 0.1, 0]]',
        fj.trajectory.Sinusoid.fourier(0.2, [[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]], SINES),
    ),
    (
        'kind = "spline"\npoints = [[0, 0, 0], [1, 0, 1], [0, 1, 2]]\nduration = 3',
        fj.trajectory.Spline([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 2.0]], 3.0),
    ),
    (
        'kind = "spline"\npoints = [[0, 0, 0], [1, 0, 1], [0, 1, 2], [0, 0, 0]]\ntimes = [0, 1, 3, 4]\n'
        'ends = "periodic"\nsmoothness = 4',
        fj.trajectory.Spline([[0, 0, 0], [1, 0, 1], [0, 1, 2], [0, 0, 0]], [0, 1, 3, 4], 4, "periodic"),
    ),
    (
        'kind = "filtered_step"\ngoal = 2\nduration = 2.5',
        fj.trajectory.FilteredStep.settled(np.zeros(3), np.full(3, 2.0), 2.5),
    ),
    (
        'kind = "filtered_step"\nstart = 1\ngoal = 2\ntime_constant = 0.1\norder = 6',
        fj.trajectory.FilteredStep(np.ones(3), np.full(3, 2.0), 0.1, 6),
    ),
    (
        'kind = "joined"\npieces = [{kind = "rest_to_rest", goal = 1, duration = 2}, '
        '{kind = "rest_to_rest", start = 1, goal = 3, duration = 1, smoothness = 4}]',
        fj.trajectory.RestToRest(np.zeros(3), np.ones(3), 2.0).then(
            fj.trajectory.RestToRest(np.ones(3), np.full(3, 3.0), 1.0, 4)
        ),
    ),
    (
        'kind = "retimed"\npath = {kind = "rest_to_rest", goal = 2, duration = 3}\n'
        'law = {kind = "time_law", breaks = [0, 1, 3], slopes = [1, 2, 1, 0.5, 3, 1], degree = 4}',
        fj.trajectory.RestToRest(np.zeros(3), np.full(3, 2.0), 3.0).retimed(
            fj.trajectory.TimeLaw([0.0, 1.0, 3.0], [1.0, 2.0, 1.0, 0.5, 3.0, 1.0], 4)
        ),
    ),
    (
        'kind = "retimed"\npath = {kind = "sinusoid", amplitude = 1, frequency = 0.5}\n'
        'law = {kind = "rest_to_rest", goal = 2, duration = 3}',
        fj.trajectory.Sinusoid(np.ones(3), 0.5).retimed(fj.trajectory.RestToRest([0.0], [2.0], 3.0)),
    ),
]


PIECE = '{kind = "rest_to_rest", goal = 1, duration = 1}'


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ("[]", "pieces"),
        ("[{kind = 'joined', pieces = []}]", "piece 1: .*kind"),
        (f"[{PIECE}, {{kind = 'sinusoid'}}]", "piece 2: the key 'amplitude' is missing"),
        (f"[{PIECE}, {PIECE}]", "let each start where the previous one ends"),
        (f"[{', '.join([PIECE] * 2000)}]", "pieces: 2,000 links, .*; at most 1,000 "),
    ],
)
def test_wrong_pieces(pieces, message):
    with pytest.raises(fj.InputError, match=message):
        fj.trajectory.load_trajectory(f'{{kind = "joined", pieces = {pieces}}}', ROBOT)


@pytest.mark.parametrize(("text", "wanted"), KINDS, ids=lambda x: x.split('"')[1] if isinstance(x, str) else "")
def test_kinds(text, wanted, write):
    same(fj.trajectory.load_trajectory(write(text), ROBOT), wanted)
    same(fj.trajectory.load_trajectory(str(write(text)), ROBOT), wanted)
    inline = text.replace("\n", ", ")
    same(fj.trajectory.load_trajectory(f" {{{inline}}} ", ROBOT), wanted)


def test_many_points_may_stand_in_one_line():
    points = np.random.default_rng(0).normal(size=(60, 3))
    found = fj.trajectory.load_trajectory(f'{{kind = "spline", points = {points.tolist()}, duration = 3.5}}', ROBOT)
    same(found, fj.trajectory.Spline(points, 3.5))


def test_defaults_are_smooth_enough_for_the_robot():
    """Four derivatives for elastic joints, whatever the kind."""
    kinds = ['rest_to_rest", goal = 1, duration = 1', 'filtered_step", goal = 1, duration = 1']
    kinds.append(f'spline", points = [{[0] * 7}, {[1] * 7}], duration = 1')
    for kind in kinds:
        assert fj.trajectory.load_trajectory(f'{{kind = "{kind}}}', ELASTIC).smoothness >= 3


def test_a_motion_too_rough_is_refused_with_its_place(write):
    path = write('kind = "rest_to_rest"\ngoal = 1\nduration = 1\nsmoothness = 2')
    with pytest.raises(fj.InputError, match=r"motion.toml: RestToRest is not smooth enough: .* give smoothness=3"):
        fj.trajectory.load_trajectory(path, ELASTIC)
    assert fj.trajectory.load_trajectory(path, ELASTIC.rigid()).smoothness == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the key 'kind' is missing: give one of .*rest_to_rest"),
        ('kind = "ramp"', "kind must be one of .* not 'ramp'"),
        ('kind = "rest_to_rest"\nduration = 1', "the key 'goal' is missing: give one number for all joints or 3"),
        ('kind = "rest_to_rest"\ngoal = [1, 2]\nduration = 1', r"goal must be .* not \[1, 2\]"),
        ('kind = "rest_to_rest"\ngoal = [1, 2, "x"]\nduration = 1', "goal must be"),
        ('kind = "rest_to_rest"\ngoal = [1, 2, true]\nduration = 1', "goal must be"),
        ('kind = "rest_to_rest"\ngoal = [1, 2, nan]\nduration = 1', "goal is .*nan"),
        ('kind = "rest_to_rest"\ngoal = 1\ngoal_deg = 1\nduration = 1', "goal and goal_deg are both given"),
        ('kind = "rest_to_rest"\ngoal = 1', "the key 'duration' is missing"),
        ('kind = "rest_to_rest"\ngoal = 1\nduration = "long"', "duration must be a number, not 'long'"),
        ('kind = "rest_to_rest"\ngoal = 1\nduration = -1', "duration is -1.0"),
        ('kind = "rest_to_rest"\ngoal = 1\nduration = 1\nsmoothness = 2.5', "smoothness is 2.5"),
        ('kind = "rest_to_rest"\ngaol = 1\nduration = 1', "unknown key 'gaol'; did you mean 'goal'"),
        ('kind = "rest_to_rest"\ngoal = 1\nduration = 1\nduration_deg = 1', "unknown key 'duration_deg'"),
        ('kind = "sinusoid"\nfrequency = 1', "the key 'amplitude' is missing"),
        ('kind = "sinusoid"\namplitude = 1\nfrequency = 0', "frequency is 0.0; all must be positive"),
        ('kind = "sinusoid"\namplitude = [1, 2]\nfrequency = 1', "amplitude must be a number, 3 numbers, or rows"),
        ('kind = "sinusoid"\namplitude = [[1], [1, 2]]\nfrequency = 1', "amplitude must be"),
        ('kind = "sinusoid"\namplitude = [[[1]]]\nfrequency = 1', "amplitude must be"),
        ('kind = "fourier"\nfrequency = 1\nsine = [[1, 1, 1]]', "the key 'cosine' is missing"),
        ('kind = "fourier"\nfrequency = 1\nsine = [[1, 1]]\ncosine = [[1, 1]]', "cosine must be rows of 3 numbers"),
        ('kind = "spline"\nduration = 1', "the key 'points' is missing: give rows of 3 numbers"),
        ('kind = "spline"\npoints_deg = [[0, 0]]\nduration = 1', "points_deg must be rows of 3"),
        ('kind = "spline"\npoints = [[0, 0, 0], [1, 1, 1]]', "the key 'duration' is missing"),
        (
            'kind = "spline"\npoints = [[0, 0, 0], [1, 1, 1]]\nduration = 1\ntimes = [0, 1]',
            "times and duration are both",
        ),
        ('kind = "spline"\npoints = [[0, 0, 0], [1, 1, 1]]\ntimes = [1, 0]', r"times\[1\] = 0.0 does not come after"),
        ('kind = "spline"\npoints = [[0, 0, 0], [1, 1, 1]]\nduration = 1\nends = "free"', "ends must be one of"),
        ('kind = "filtered_step"\ngoal = 1', "the key 'duration' is missing"),
        ('kind = "filtered_step"\ngoal = 1\ntime_constant = 0', "time_constant is 0.0"),
        ('kind = "samples"', "the key 'file' is missing"),
        ('kind = "samples"\nfile = "nowhere.csv"', "nowhere.csv: there is no such file"),
        ("kind = ", "not valid TOML"),
        ("x = " + "[" * 9999, "nested too deeply"),
    ],
)
def test_wrong_files_are_refused_with_place_and_key(text, message, write):
    with pytest.raises(fj.InputError, match=message) as error:
        fj.trajectory.load_trajectory(write(text), ROBOT)
    assert "motion.toml" in str(error.value) or "nowhere.csv" in str(error.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("motion.txt", "a trajectory is a .toml, .csv or .npz file"),
        ("nowhere.toml", "nowhere.toml: there is no such file: give the path of a trajectory file"),
        ("nowhere.npz", "nowhere.npz: there is no such file: give the path of a file of samples"),
        ("{kind = 3}", "trajectory: kind must be one of"),
        ('{kind = "rest_to_rest"', "not valid TOML"),
        ('{kind = "rest_to_rest"}\nx = 1', "not valid TOML"),
    ],
)
def test_wrong_sources_are_refused(source, message):
    with pytest.raises(fj.InputError, match=message):
        fj.trajectory.load_trajectory(source, ROBOT)


def test_degrees_are_for_turning_joints():
    slide = fj.from_dh("slide", [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], kinds="RP")
    with pytest.raises(fj.InputError, match=r"goal_deg is in degrees, but joint 'joint2' slides: give goal"):
        fj.trajectory.load_trajectory('{kind = "rest_to_rest", goal_deg = 1, duration = 1}', slide)


# Samples ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", [None, "t,q1,q2,q3", "time [s], a, b, c", ",".join(["t", *NAMES])])
def test_csv(header, write):
    path = write(csv(np.column_stack([STAMPS, RECORD]), header), "record.csv")
    same(fj.trajectory.load_trajectory(path, ROBOT), fj.trajectory.Samples(STAMPS, RECORD))
    found = fj.trajectory.load_trajectory(path, ROBOT)
    assert found.first_time == 5.0
    assert found.max_error.shape == (3,)


@pytest.mark.parametrize("mark", [",", ";", " ", "\t", " ,  "])
def test_separators_comments_and_byte_order_marks(mark, write):
    rows = "\n".join(mark.join(repr(float(x)) for x in row) for row in np.column_stack([STAMPS, RECORD]))
    path = write("\ufeff# recorded today\n\n" + rows + "\n\n", "record.csv")
    same(fj.trajectory.load_trajectory(path, ROBOT), fj.trajectory.Samples(STAMPS, RECORD))


@pytest.mark.parametrize("form", ["q{}", "Q_{}", "Joint {}", "J{}", "pos_{}", "axis {}"])
@pytest.mark.parametrize("first", [0, 1])
def test_numbered_columns_are_found_by_their_numbers(form, first, write):
    """From 1 or from 0, in any order."""
    names = ["t", *(form.format(j) for j in (first + 2, first, first + 1))]
    path = write(csv(np.column_stack([STAMPS, RECORD[:, [2, 0, 1]]]), ",".join(names)), "record.csv")
    found = []
    assert said(lambda: found.append(fj.trajectory.load_trajectory(path, ROBOT))) == []
    assert np.array_equal(found[0].positions, RECORD)


def test_columns_that_name_no_joint_are_read_as_they_stand_with_a_warning(write):
    path = write(csv(np.column_stack([STAMPS, RECORD]), "t,shoulder,elbow,wrist"), "record.csv")
    found = []
    (message,) = said(lambda: found.append(fj.trajectory.load_trajectory(path, ROBOT)))
    assert np.array_equal(found[0].positions, RECORD)
    assert "record.csv: no column is named after a joint" in message
    assert f"shoulder is {NAMES[0]}, elbow is {NAMES[1]}" in message and "or q1, q2" in message


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("t,tau1,tau2,tau3", "look like torques"),
        ("t,dq_0,dq_1,dq_2", "look like velocities"),
        ("t,q1,q2,q4", "numbered neither from 1 to 3 nor from 0 to 2"),
        ("t,q2,q3,q4", "numbered neither"),
        ("t,q1,q2,q2", "numbered neither"),
    ],
)
def test_columns_that_contradict_positions_are_refused(header, message, write):
    path = write(csv(np.column_stack([STAMPS, RECORD]), header), "record.csv")
    with pytest.raises(fj.InputError, match=message):
        fj.trajectory.load_trajectory(path, ROBOT)


def test_times_that_look_like_milliseconds_are_warned_of(write):
    """A record of 40 ms became one of 40 s, and its torques those of standing still."""
    stamps = np.arange(41.0)
    path = write(csv(np.column_stack([stamps, RECORD]), "t,q1,q2,q3"), "record.csv")
    (message,) = said(lambda: fj.trajectory.load_trajectory(path, ROBOT))
    assert "the times in 't' are whole numbers up to 40, 1 s apart" in message and "'t [ms]'" in message
    for unit in ("s", "ms"):
        path = write(csv(np.column_stack([stamps, RECORD]), f"t [{unit}],q1,q2,q3"), f"record_{unit}.csv")
        assert said(lambda path=path: fj.trajectory.load_trajectory(path, ROBOT)) == []


def test_columns_named_after_joints_may_stand_in_any_order(write):
    turned = [2, 0, 1]
    names = [NAMES[i] for i in turned]
    text = csv(np.column_stack([STAMPS, RECORD[:, turned]]), ",".join(["t", *names]))
    same(fj.trajectory.load_trajectory(write(text, "record.csv"), ROBOT), fj.trajectory.Samples(STAMPS, RECORD))
    data = npz(**{name: RECORD[:, i] for name, i in zip(names, turned)}, t=STAMPS)
    same(fj.trajectory.load_trajectory(write(data, "record.npz"), ROBOT), fj.trajectory.Samples(STAMPS, RECORD))


@pytest.mark.parametrize("form", ["{0}", "q.{0}", "{0}.q", "q{1}", "q_{1}", "{0} [rad]"])
@pytest.mark.parametrize("turned", [[0, 3, 1, 2], [2, 1, 0, 3], [3, 2, 1, 0]])
def test_named_columns_are_found_wherever_they_stand(form, turned, write):
    """The time too; a column must never be taken for another."""
    names = ["time [s]", *(form.format(name, i) for i, name in enumerate(NAMES, start=1))]
    text = csv(np.column_stack([STAMPS, RECORD])[:, turned], ",".join(names[i] for i in turned))
    same(fj.trajectory.load_trajectory(write(text, "record.csv"), ROBOT), fj.trajectory.Samples(STAMPS, RECORD))


def test_units_of_columns(write):
    """Degrees and milliseconds in the header; a unit that is none is refused."""
    sliding = fj.from_dh("rp", 0.0, 0.1, 0.1, kinds="RP", mass=1.0, inertia=np.eye(3))
    header = "joint2 [mm], joint1 [deg], t [ms]"
    text = csv(np.column_stack([1e3 * RECORD[:, 1], np.rad2deg(RECORD[:, 0]), 1e3 * STAMPS]), header)
    found = fj.trajectory.load_trajectory(write(text, "record.csv"), sliding)
    assert np.allclose(found(0.7), fj.trajectory.Samples(STAMPS, RECORD[:, :2], 2)(0.7), rtol=1e-9)
    with pytest.raises(fj.InputError, match=r"the unit of 'joint2 \[deg\]' is none of m, mm, cm"):
        fj.trajectory.load_trajectory(write(text.replace("[mm]", "[deg]"), "record.csv"), sliding)
    stiffness = csv(np.column_stack([STAMPS, 900.0 + RECORD]), "t," + ",".join(f"q{i} [Nm/rad]" for i in (1, 2, 3)))
    vsa = fj.load("vsa_3r")
    same(fj.trajectory.load_stiffness(write(stiffness, "s.csv"), vsa), fj.trajectory.Samples(STAMPS, 900.0 + RECORD, 2))
    with pytest.raises(fj.InputError, match="is none of Nm/rad"):
        fj.trajectory.load_stiffness(write(stiffness.replace("Nm/rad", "rad"), "s.csv"), vsa)


def test_a_name_with_brackets_has_no_unit(write):
    robot = fj.from_dh("odd", 0.0, 0.1, [0.1, 0.2], mass=1.0, inertia=np.eye(3), joint_names=["a[0]", "a[1]"])
    text = csv(np.column_stack([STAMPS, RECORD[:, [1, 0]]]), "t,a[1],a[0]")
    same(
        fj.trajectory.load_trajectory(write(text, "record.csv"), robot), fj.trajectory.Samples(STAMPS, RECORD[:, :2], 2)
    )


def test_npz(write):
    same(
        fj.trajectory.load_trajectory(write(npz(t=STAMPS, q=RECORD), "a.npz"), ROBOT),
        fj.trajectory.Samples(STAMPS, RECORD),
    )
    same(
        fj.trajectory.load_trajectory(write(npz(time=STAMPS, q=RECORD, v=0.0), "a.npz"), ROBOT),
        fj.trajectory.Samples(STAMPS, RECORD),
    )


def test_samples_from_toml(write):
    write(csv(np.column_stack([STAMPS, RECORD])), "record.csv")
    path = write('kind = "samples"\nfile = "record.csv"\norder = 4\ncutoff = 3')
    same(fj.trajectory.load_trajectory(path, ROBOT), fj.trajectory.Samples(STAMPS, RECORD, 4, 3.0))


ROWS = np.column_stack([STAMPS, RECORD])


def broken(i, j, value):
    rows = ROWS.copy()
    rows[i, j] = value
    return rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("# only a comment", "the file is empty"),
        ("t,a,b,c", "there is a header but no sample"),
        (csv(ROWS[:, :3]), "3 columns; there must be 4: the time and one for each of 3 joints"),
        (csv(np.column_stack([ROWS, RECORD])), "7 columns; there must be 4"),
        ("t,a,b,c\n" + csv(ROWS[:, :3]), "sample 1 has 3 cells, the header 4"),
        (csv(ROWS) + "1,2,3\n", "sample 42 has 3 cells, the first sample 4"),
        (csv(ROWS) + "8,x,3,4\n", "sample 42 of column 2 is 'x', not a number"),
        (csv(ROWS) + "8,,3,4\n", "sample 42 of column 2 is empty"),
        (csv(broken(3, 2, np.nan)), r"sample 4 of column 3 \('q2'\) is nan"),
        (csv(broken(3, 2, np.inf), "t,left,right,up"), r"sample 4 of column 3 \('right'\) is inf"),
        (csv(broken(3, 0, np.nan)), r"sample 4 of column 1 \('t'\) is nan"),
        (csv(broken(7, 0, STAMPS[6])), "the time of sample 8, 5.3, does not come after that of sample 7, 5.3"),
        (csv(ROWS[::-1]), "the time of sample 2, 6.95, does not come after that of sample 1, 7.0"),
        (csv(ROWS[:3]), "positions has 3 rows; 6 are the least"),
        (csv(ROWS, f"t,{NAMES[0]},{NAMES[1]},elbow"), "some columns are named after joints .* elbow"),
        (csv(ROWS, f"t,{NAMES[0]},{NAMES[1]},{NAMES[1]}"), "some columns are named after joints"),
        (b"\xff\xfe\x00", "not a text file"),
    ],
)
def test_wrong_csv_is_refused(text, message, write):
    with pytest.raises(fj.InputError, match=message) as error:
        fj.trajectory.load_trajectory(write(text, "record.csv"), ROBOT)
    assert "record.csv" in str(error.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not an NPZ file"),
        (b"PK\x03\x04 but no more", "not an NPZ file"),
        (npz(q=RECORD), "no array 't'; the file holds q"),
        (npz(), "no array 't'; the file holds nothing"),
        (npz(t=STAMPS, q=RECORD[:, :2]), "2 columns beside t; there must be 3"),
        (npz(t=STAMPS, q=RECORD[:, 0]), r"q has shape \(41,\); it must be \(41, 3\)"),
        (npz(t=STAMPS[:-1], q=RECORD), r"q1 has shape \(41,\); it must be \(40,\)"),
        (npz(t=STAMPS[:, None], q=RECORD), r"t has shape \(41, 1\)"),
        (npz(t=STAMPS, a=RECORD, b=STAMPS, c=STAMPS), r"a has shape \(41, 3\)"),
        (npz(t=STAMPS, q=np.where(RECORD[2, 1] == RECORD, np.nan, RECORD)), r"sample 3 of column 3 \('q2'\) is nan"),
        (npz(t=np.array(["a"]), q=RECORD), "'t' is no array of real numbers: its header is .*<U1"),
        (npz(t=np.array([{}], dtype=object), q=RECORD), "'t' is no array of real numbers: its header is .*O"),
        (npz(t=STAMPS.astype(complex), q=RECORD), "'t' is no array of real numbers: its header is .*c16"),
    ],
)
def test_wrong_npz_is_refused(data, message, write):
    with pytest.raises(fj.InputError, match=message) as error:
        fj.trajectory.load_trajectory(write(data, "record.npz"), ROBOT)
    assert "record.npz" in str(error.value)


def test_files_without_end_are_refused(write, monkeypatch):
    monkeypatch.setenv("FLEXJOINT_LIMITS", "table_bytes=1000, packed_numbers=20000")
    with pytest.raises(fj.InputError, match=r"record.csv: .* bytes in a table or log; at most 1,000"):
        fj.trajectory.load_trajectory(write(csv(ROWS), "record.csv"), ROBOT)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, t=np.zeros(10000), q=np.zeros((10000, 3)))
    assert len(buffer.getvalue()) < 1000
    with pytest.raises(fj.InputError, match=r"record.npz: 'q' of shape \(10000, 3\): 40,000 numbers .* at most 20,000"):
        fj.trajectory.load_trajectory(write(buffer.getvalue(), "record.npz"), ROBOT)


@pytest.mark.filterwarnings("ignore")
def test_damaged_files_give_errors_of_ours(write):
    """Bytes changed at random: a motion, or an error that names the file; never anything else."""
    random = np.random.default_rng(8)
    files = {"a.csv": csv(ROWS).encode(), "a.npz": npz(t=STAMPS, q=RECORD), "a.toml": KINDS[1][0].encode()}
    for name, data in files.items():
        for _ in range(150):
            damaged = bytearray(data)
            for place in random.integers(0, len(data), random.integers(1, 6)):
                damaged[place] = random.integers(256)
            if random.random() < 0.2:
                damaged = damaged[: random.integers(len(damaged))]
            try:
                fj.trajectory.load_trajectory(write(bytes(damaged), name), ROBOT)
            except fj.InputError as error:
                assert name in str(error)


# Extensions -------------------------------------------------------------------------------------------------------


def test_a_registered_kind_is_read():
    """Its declared keys are known, positions in degrees too; others are refused."""
    try:

        @kind_of_files("hold", positions=("at",), others=("duration",))
        def read(table):
            at = table.per_joint("at")
            return fj.trajectory.RestToRest(at, at, table.number("duration"))

        found = fj.trajectory.load_trajectory('{kind = "hold", at_deg = 90, duration = 2}', ROBOT)
        same(found, fj.trajectory.RestToRest([np.pi / 2] * 3, [np.pi / 2] * 3, 2.0))
        with pytest.raises(fj.InputError, match=r"unknown key 'too'; .*at, at_deg, duration, kind"):
            fj.trajectory.load_trajectory('{kind = "hold", too = 90, duration = 2}', ROBOT)
    finally:
        KINDS_OF_FILES.pop("hold", None)


def test_two_kinds_cannot_share_a_name():
    with pytest.raises(fj.FlexjointError, match=r"'spline' is flexjoint\.trajectory\.spline\.read already"):
        kind_of_files("spline")(lambda table: None)


def test_the_pose_of_a_base(tmp_path):
    """As a text, and as samples whose columns are named; smoothness for the plant is enough."""
    text = '{kind = "rest_to_rest", goal = [1, 2, 3, 0.1, 0.2, 0.3], duration = 1, smoothness = 1}'
    assert fj.trajectory.load_base(text, ROBOT)(1.0)[0].tolist() == [1, 2, 3, 0.1, 0.2, 0.3]
    t = np.linspace(0.0, 1.0, 20)
    names = "t,yaw,pitch [deg],roll,x,y [mm],z"
    columns = [t, 0.1 * t, 5 * t, 0.3 * t, t, 1000 * t, 3 * t]
    np.savetxt(tmp_path / "ship.csv", np.column_stack(columns), delimiter=",", header=names, comments="")
    found = fj.trajectory.load_base(tmp_path / "ship.csv", ROBOT)
    np.testing.assert_allclose(found(1.0)[0], [1, 1, 3, 0.3, np.deg2rad(5), 0.1], atol=1e-12)
    with pytest.raises(fj.InputError, match="6, one per joint"):
        fj.trajectory.load_base('{kind = "rest_to_rest", goal = [1, 2], duration = 1}', ROBOT)
