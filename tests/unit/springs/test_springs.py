"""All spring laws: torque, stiffness and inverse against formulas; laws of a user; robot files; what is refused."""

import math
from dataclasses import dataclass

import casadi as ca
import mpmath
import numpy as np
import pytest

import flexjoint as fj
from flexjoint import springs
from flexjoint.springs import SPRINGS, Spring
from support.springs import inverse

CUBIC = fj.springs.CubicSpring(900.0, 4.0e4)
TAN = fj.springs.HardeningSpring(700.0, 0.2)
POINTS = ((0.0, 0.01, 0.03, 0.1), (500.0, 400.0, 2000.0, 1500.0))
PIECES = fj.springs.PiecewiseSpring(*POINTS)
LAWS = [
    fj.springs.LinearSpring(1234.5),
    CUBIC,
    fj.springs.CubicSpring(50.0, 0.0),
    TAN,
    PIECES,
    fj.springs.PiecewiseSpring([0], [80]),
    fj.springs.SinhSpring(40.0, 7.0),
]
FOUR_BAR = fj.springs.FourBarSpring(30.0, 3.0)


def each(laws=LAWS):
    return pytest.mark.parametrize("spring", laws, ids=repr)


def test_torques_by_hand():
    phi = np.linspace(-0.19, 0.19, 39)
    c = 2 * 0.2 / np.pi
    assert np.allclose(CUBIC.curve(phi).torque, 900 * phi + 4e4 * phi**3, rtol=1e-15)
    assert np.allclose(CUBIC.curve(phi).stiffness, 900 + 12e4 * phi**2, rtol=1e-15)
    assert np.allclose(CUBIC.curve(phi).slope, 24e4 * phi, rtol=1e-15)
    assert np.allclose(TAN.curve(phi).torque, 700 * c * np.tan(phi / c), rtol=1e-14)
    assert np.allclose(TAN.curve(phi).stiffness, 700 / np.cos(phi / c) ** 2, rtol=1e-13)
    assert np.allclose(TAN.curve(phi).slope, 1400 / c * np.tan(phi / c) / np.cos(phi / c) ** 2, rtol=1e-13)
    assert np.allclose(fj.springs.LinearSpring(3.0).curve(phi), [3 * phi, 3 + 0 * phi, 0 * phi], rtol=1e-15)


@each()
def test_laws_are_odd_and_increase(spring):
    phi = np.linspace(0.0, 0.199, 200)
    up, down = spring.curve(phi), spring.curve(-phi)
    assert np.all(np.diff(up.torque) > 0)
    assert np.all(up.stiffness > 0)
    assert np.array_equal(up.torque, -down.torque)
    assert np.array_equal(up.stiffness, down.stiffness)


@each()
def test_the_inverse_undoes_the_law(spring):
    """To rounding times the condition of the law, over ten decades of deflection."""
    phi = np.concatenate([-np.geomspace(1e-11, 0.19, 60), [0.0], np.geomspace(1e-11, 0.19, 60)])
    found = inverse(spring, spring.curve(phi).torque)
    assert np.allclose(found, phi, rtol=1e-14, atol=0)


TABLE = fj.springs.TabulatedSpring((-0.2, -0.07, 0.0, 0.1, 0.25, 0.3), (-25.0, -7.0, 0.0, 9.0, 30.0, 40.0))


@each([*LAWS, fj.springs.QuadraticSpring(90.0, 40.0), fj.springs.ExponentialSpring(90.0, 3.0), TABLE])
def test_the_slope_of_the_inverse_is_that_of_the_law(spring):
    """dφ/dτ = 1/k by automatic differentiation, at rest and where pieces meet too."""
    places = {0.0, 0.05, -0.05, *getattr(spring, "deflections", (0.0,))}
    tau, stiffness, _ = spring.curve(sorted(places - {0.3, -0.2}))  # not at the ends of the table
    x = ca.SX.sym("tau")
    slope = ca.Function("f", [x], [ca.densify(ca.jacobian(spring.deflection(x), x))])
    assert np.allclose(np.array(slope(tau.reshape(1, -1)))[0], 1 / stiffness, rtol=1e-13)


ONE_SIDED = [fj.springs.QuadraticSpring(90.0, -40.0), fj.springs.ExponentialSpring(90.0, -30.0)]


BETWEEN = fj.springs.TabulatedSpring((-0.3, -0.1, 0.1, 0.3), (-40.0, -9.0, 9.0, 40.0))


@each([*LAWS, FOUR_BAR, *ONE_SIDED, TABLE, BETWEEN])
def test_energy_is_the_integral_of_the_torque(spring):
    """0 at rest, and its derivative is the torque, over ten decades of deflection; NaN where the torque is."""
    x = ca.SX.sym("phi")
    U = spring.energy(x)
    f = ca.Function("f", [x], [U, ca.densify(ca.jacobian(U, x)), spring.torque(x)])
    phi = np.concatenate([-np.geomspace(0.19, 1e-11, 60), [0.0], np.geomspace(1e-11, 0.19, 60)])
    energy, slope, torque = (np.array(y)[0] for y in f(phi.reshape(1, -1)))
    assert energy[60] == 0.0 and np.all(np.diff(energy[60:]) > 0) and np.all(np.diff(energy[:61]) < 0)
    assert np.allclose(slope, torque, rtol=1e-12, atol=1e-13)
    small = 15  # from the point of rest, where U = ½ τ φ to first order
    near = slice(60 - small, 61 + small)
    assert np.allclose(energy[near], torque[near] * phi[near] / 2, rtol=1e-5, atol=0)
    assert spring.has_energy and np.all(np.isnan(np.array(f(9.0)[:1])) == np.isnan(np.array(f(9.0)[2:])))


def test_hyperbolic_sine_and_four_bar_in_many_digits():
    """τ = k sinh(aφ), σ = a k cosh(aφ) of the qbmove; 2kββ' of the VSA-II, by mpmath; the end of the linkage."""
    phi = np.linspace(-0.6, 0.6, 25)
    spring = fj.springs.SinhSpring(6.7 * 0.022, 6.7)
    torque = [mpmath.mpf(0.022) * mpmath.sinh(mpmath.mpf(6.7) * mpmath.mpf(x)) for x in phi]
    stiffness = [mpmath.mpf(0.022) * mpmath.mpf(6.7) * mpmath.cosh(mpmath.mpf(6.7) * mpmath.mpf(x)) for x in phi]
    found = spring.curve(phi)
    assert np.allclose(found.torque, np.array(torque, dtype=float), rtol=1e-14)
    assert np.allclose(found.stiffness, np.array(stiffness, dtype=float), rtol=1e-14)
    assert np.allclose(found.slope, 6.7**2 * found.torque, rtol=1e-14)

    def law(x):
        beta = lambda y: mpmath.asin(3 * mpmath.sin(y / 2)) - y / 2  # noqa: E731
        return 2 * 30 * beta(x) * mpmath.diff(beta, x)

    with mpmath.workdps(40):
        expected = [[mpmath.diff(law, mpmath.mpf(x), k) for x in phi] for k in range(3)]
    for ours, theirs in zip(FOUR_BAR.curve(phi), expected):
        assert np.allclose(ours, np.array(theirs, dtype=float), rtol=1e-12, atol=1e-12)
    assert FOUR_BAR.reach == pytest.approx(2 * np.arcsin(1 / 3)) and not FOUR_BAR.invertible
    assert np.isnan(FOUR_BAR.curve([0.68, -0.68, 6.2]).torque).all() and np.isfinite(FOUR_BAR.curve(0.679).torque)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_springs_that_stiffen_on_one_side(sign):
    """Quadratic and exponential torques by hand, mirrored if the sign is; the inverse to rounding of its terms."""
    phi = np.linspace(-0.2, 0.2, 41)
    quadratic, exponential = (
        fj.springs.QuadraticSpring(300.0, sign * 1200.0),
        fj.springs.ExponentialSpring(300.0, sign * 6.0),
    )
    assert np.allclose(quadratic.curve(phi).torque, 300 * phi + sign * 600 * phi**2, rtol=1e-14)
    assert np.allclose(quadratic.curve(phi).stiffness, 300 + sign * 1200 * phi, rtol=1e-14)
    assert np.allclose(quadratic.curve(phi).slope, sign * 1200, rtol=1e-14)
    assert np.allclose(exponential.curve(phi).torque, sign * 50 * np.expm1(sign * 6 * phi), rtol=1e-13)
    assert np.allclose(exponential.curve(phi).stiffness, 300 * np.exp(sign * 6 * phi), rtol=1e-14)
    assert np.allclose(exponential.curve(phi).slope, sign * 1800 * np.exp(sign * 6 * phi), rtol=1e-14)
    for spring in (quadratic, exponential):
        assert np.allclose(inverse(spring, spring.curve(phi).torque), phi, rtol=1e-13, atol=1e-15)
    assert np.isnan(quadratic.curve(-sign * 0.25).torque) and np.isnan(quadratic.curve(-sign * 0.7).torque)
    assert np.all(np.isnan([inverse(spring, -sign * 60.0) for spring in (quadratic, exponential)]))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fj.springs.LinearSpring(0.0), ["LinearSpring", "stiffness is 0", "positive"]),
        (lambda: fj.springs.CubicSpring(-3.0, 1.0), ["CubicSpring", "stiffness is -3", "positive"]),
        (lambda: fj.springs.CubicSpring(3.0, -1.0), ["CubicSpring", "cubic is -1", "not be negative"]),
        (lambda: fj.springs.CubicSpring(3.0, math.nan), ["cubic is nan", "finite"]),
        (lambda: fj.springs.HardeningSpring(math.inf, 1.0), ["HardeningSpring", "inf", "finite"]),
        (lambda: fj.springs.HardeningSpring(3.0, 0.0), ["limit is 0", "positive"]),
        (lambda: fj.springs.HardeningSpring("hard", 1.0), ["'hard'", "finite number"]),
        (lambda: fj.springs.PiecewiseSpring([0.0, 0.1], [1.0]), ["2 deflections and 1 stiffnesses"]),
        (lambda: fj.springs.PiecewiseSpring([], []), ["0 deflections"]),
        (lambda: fj.springs.PiecewiseSpring([0.1, 0.2], [1.0, 1.0]), ["[0.1, 0.2]", "start at 0"]),
        (lambda: fj.springs.PiecewiseSpring([0.0, 0.2, 0.2], [1.0, 1.0, 2.0]), ["increase"]),
        (lambda: fj.springs.PiecewiseSpring([0.0, 0.2], [1.0, 0.0]), ["a stiffness is 0", "positive"]),
        (lambda: fj.springs.PiecewiseSpring([0.0, 0.2], [1.0, math.nan]), ["stiffnesses", "nan", "finite"]),
        (lambda: fj.springs.QuadraticSpring(0.0, 1.0), ["QuadraticSpring", "stiffness is 0", "positive"]),
        (lambda: fj.springs.QuadraticSpring(1.0, 0.0), ["slope is 0", "LinearSpring"]),
        (lambda: fj.springs.ExponentialSpring(1.0, math.inf), ["ExponentialSpring", "rate is inf", "finite"]),
        (lambda: fj.springs.PiecewiseSpring("ab", "cd"), ["deflections", "'ab'"]),
        (lambda: fj.springs.SinhSpring(1.0, -2.0), ["SinhSpring", "rate is -2", "positive"]),
        (lambda: fj.springs.FourBarSpring(1.0, 1.0), ["FourBarSpring", "ratio is 1", "above 1"]),
    ],
)
def test_refused(make, words):
    with pytest.raises(fj.RobotError) as error:
        make()
    for word in words:
        assert word in str(error.value)


# Laws of one's own ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Quintic(Spring):
    k: float

    def torque(self, phi):
        return self.k * (phi + phi**5)


@dataclass(frozen=True)
class Softening(Spring):
    def torque(self, phi):
        return ca.sin(5 * phi)


@dataclass(frozen=True)
class Power(Spring):
    """Not odd, and defined on a part only; the inverse is right for k = 1 alone."""

    k: float

    def torque(self, phi):
        return ca.if_else(ca.fabs(phi) < 0.5, self.k * (ca.exp(phi) - 1), math.nan)

    def deflection(self, tau):
        return ca.log(1 + tau)


def on_a_joint(spring):
    drive = fj.ElasticDrive(spring, fj.Motor(0.1))
    return fj.Robot("r", (fj.Link("a", fj.Joint("knee", drive=drive), mass=1.0, inertia=np.eye(3)),))


def test_a_law_of_ones_own():
    spring = Quintic(10.0)
    assert spring.curve(0.5).stiffness == pytest.approx(10 * (1 + 5 * 0.5**4))
    assert not spring.invertible
    with pytest.raises(fj.RobotError, match=r"Softening: the stiffness falls to -.*increase strictly"):
        Softening()


@dataclass(frozen=True)
class Erf(Spring):
    def torque(self, phi):
        return ca.erf(phi)


@dataclass(frozen=True)
class Unchecked(Erf):
    def __post_init__(self):
        pass


@dataclass(frozen=True)
class InverseErf(Quintic):
    """The law is usual, its inverse is not."""

    def __post_init__(self):
        pass

    def deflection(self, tau):
        return ca.erfinv(tau)


def test_a_law_with_a_function_that_no_kernel_has():
    with pytest.raises(fj.RobotError, match=r"^Erf uses erf, which no kernel has; write it with sqrt, .*sinh"):
        Erf()
    law = Unchecked()
    with pytest.raises(fj.RobotError, match=r"spring law Unchecked of joint 'knee' uses erf, .* write it with sqrt"):
        on_a_joint(law)
    with pytest.raises(fj.RobotError, match=r"spring law InverseErf of joint 'knee' uses erfinv"):
        on_a_joint(InverseErf(1.0))
    pair = fj.drives.AntagonisticDrive(law, law, fj.Motor(0.1), fj.Motor(0.1))
    with pytest.raises(fj.RobotError, match=r"spring law Unchecked of joint 'knee' uses erf"):
        fj.Robot("r", (fj.Link("a", fj.Joint("knee", drive=pair), mass=1.0, inertia=np.eye(3)),))


@dataclass(frozen=True)
class Searched(Spring):
    """The law of another spring, whose inverse it does not tell."""

    of: Spring

    def torque(self, phi):
        return self.of.torque(phi)


@pytest.mark.parametrize(
    "spring",
    [
        fj.springs.CubicSpring(100.0, 4000.0),
        fj.springs.HardeningSpring(100.0, 0.3),
        fj.springs.PiecewiseSpring((0.0, 0.1), (50.0, 500.0)),
    ],
)
def test_an_inverse_that_a_law_does_not_tell_is_found(spring):
    """... with the deflection, its derivatives and the motor torque of the closed inverse; beyond its reach nothing."""
    told, found = on_a_joint(spring), on_a_joint(Searched(spring))
    rng = np.random.default_rng(0)
    stack = rng.normal(size=(5, 40, 1)) * [[[1.0]], [[3.0]], [[30.0]], [[100.0]], [[1000.0]]]
    stack[:, 0] = 0.0
    for ours, expected in zip(fj.motor_motion(found, *stack), fj.motor_motion(told, *stack)):
        np.testing.assert_allclose(ours, expected, rtol=1e-13, atol=1e-13)
    with pytest.raises(fj.NonFiniteError):
        fj.motor_motion(on_a_joint(Searched(fj.springs.LinearSpring(1.0))), *np.full((5, 1), 50.0))


def test_the_inverse_of_a_law_of_ones_own_is_tried():
    assert Power(1.0).invertible
    with pytest.raises(fj.RobotError, match=r"Power: deflection\(-?\d.* must be the inverse"):
        Power(2.0)


def test_robots_with_other_laws_are_other_robots():
    """Of a law that flexjoint does not know its code counts: a class of the same name is another law."""

    def quintic(power):
        @dataclass(frozen=True)
        class Quintic(Spring):
            k: float

            def torque(self, phi):
                return self.k * (phi + phi**power)

        return Quintic(10.0)

    laws = [
        100.0,
        fj.springs.LinearSpring(100.0),
        fj.springs.CubicSpring(100.0, 0.0),
        CUBIC,
        TAN,
        PIECES,
        quintic(3),
        quintic(7),
    ]
    assert len({on_a_joint(law) for law in laws}) == len(laws)
    assert on_a_joint(quintic(5)) == on_a_joint(Quintic(10.0))
    assert on_a_joint(fj.springs.CubicSpring(1, 2)) == on_a_joint(fj.springs.CubicSpring(1.0, 2.0))


# Files ------------------------------------------------------------------------------------------------------------


def test_every_law_has_a_name_in_files():
    ours = [x for x in vars(springs).values() if isinstance(x, type) and issubclass(x, Spring) and x is not Spring]
    assert ours and set(ours) == set(SPRINGS.values())


@each()
def test_files_hold_laws(spring, tmp_path):
    fj.write_robot(on_a_joint(spring), tmp_path / "robot.toml")
    again = fj.formats.read_robot(tmp_path / "robot.toml")
    assert again == on_a_joint(spring)
    assert again.joints[0].drive.spring == spring


@pytest.mark.parametrize(
    ("spring", "words"),
    [
        ('{kind = "cubic", stiffness = 1.0}', ["drive, spring", "'cubic' is missing", "CubicSpring"]),
        ('{kind = "rubber"}', ["kind", '"cubic", "exponential", "four_bar", "hardening"', "rubber"]),
        ('{kind = "linear", stiffness = 1, cubic = 2}', ["unknown key 'cubic'"]),
        ('{kind = "hardening", stiffness = "a", limit = 2}', ["HardeningSpring", "'a'", "finite"]),
        ('{kind = "linear", stiffness = 1}, stiffness = 3', ["stiffness and spring are both given"]),
    ],
)
def test_bad_laws_in_files(spring, words, tmp_path):
    path = tmp_path / "robot.toml"
    drive = f'{{kind="elastic", motor_inertia=1, spring={spring}}}'
    path.write_text(f'name="r"\nconvention="frames"\n[[link]]\nname="a"\ndrive={drive}\n')
    with pytest.raises(fj.RobotError) as error:
        fj.formats.read_robot(path)
    for word in words:
        assert word in str(error.value)


def test_a_law_of_ones_own_has_no_form_in_files(tmp_path):
    with pytest.raises(fj.RobotError, match=r"'knee'.*Quintic.*no form in robot files"):
        fj.write_robot(on_a_joint(Quintic(1.0)), tmp_path / "robot.toml")


def test_a_registered_law_has_a_form_in_files(tmp_path):
    try:

        @SPRINGS.register("sine_hyperbolic")
        @dataclass(frozen=True)
        class Sinh(Spring):
            k: float

            def torque(self, phi):
                return self.k * (ca.exp(phi) - ca.exp(-phi))

        fj.write_robot(on_a_joint(Sinh(7.0)), tmp_path / "robot.toml")
        assert fj.formats.read_robot(tmp_path / "robot.toml").joints[0].drive.spring == Sinh(7.0)

        class Further(Sinh):
            reach = 3.0

        with pytest.raises(fj.RobotError, match=r"Further.*no form in robot files"):
            fj.write_robot(on_a_joint(Further(7.0)), tmp_path / "robot.toml")
    finally:
        SPRINGS.pop("sine_hyperbolic", None)


def test_two_laws_cannot_share_a_name():
    with pytest.raises(fj.FlexjointError, match=r"spring law 'cubic' is flexjoint\..*\.CubicSpring already"):

        @SPRINGS.register("cubic")
        class Cubic(Spring):
            pass
