"""The two number formats of compiled code, double and single, with the constants of elementary functions.

    DOUBLE.digits, SINGLE.digits        # 53, 24

The functions themselves are in elementary.py, written once for both.  Polynomials are minimax, with coefficients in
ascending order; the errors given are the polynomials' own, before any rounding of their evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """An IEEE 754 binary format, and polynomials and limits in its precision."""

    name: str
    digits: int  # of the significand, the leading one included
    bias: int  # of the exponent
    lift: int  # 2^lift makes every denormal normal; a multiple of 3

    # sin, cos
    sin_range: float
    half_pi: tuple[float, float, float]  # in three parts, all positive, as the sign of -0 in the reduction requires
    two_over_pi: float
    sin: tuple[float, ...]  # (sin r)/r - 1 in z = r^2
    cos: tuple[float, ...]  # cos r in z = r^2

    # exp, log, tanh
    log2_e: float
    ln2: tuple[float, float]  # in two parts; the product of the first and any exponent is exact
    exp_range: tuple[float, float]  # beyond, exp is 0 or inf
    exp: tuple[float, ...]  # (e^r - 1 - r)/r^2 on |r| <= ln(2)/2
    log: tuple[float, ...]  # (2 - 2 atanh(s)/s)/s^2 in z = s^2 on |s| <= 3 - sqrt(8)
    tanh_range: float  # beyond, tanh rounds to 1
    tanh: tuple[float, ...]  # (tanh(r)/r - 1)/r^2 in z = r^2 on 0 <= r <= ln(2)/2

    # sinh, cosh
    sinh_range: float  # beyond, sinh and cosh are infinite
    sinh: tuple[float, ...]  # (sinh(r)/r - 1)/r^2 in z = r^2 on 0 <= r <= ln(2)
    cosh: tuple[float, ...]  # (cosh(r) - 1)/r^2 in z = r^2 on 0 <= r <= ln(2)

    asin: tuple[float, ...]  # (asin(s)/s - 1)/s^2 in z = s^2 on 0 <= s <= 1/2
    atan: tuple[float, ...]  # (atan(q)/q - 1)/q^2 in z = q^2 on |q| <= 1

    # Adding 1.5*2^52 rounds a double below 2^51 in magnitude to an integer, 1.5*2^54 to a multiple of 4.
    # Unlike floor(x + 1/2) this is symmetric in x, and it costs nothing more when fused with a product.

    @property
    def to_integer(self) -> float:
        return 1.5 * 2.0 ** (self.digits - 1)

    @property
    def to_multiple_of_4(self) -> float:
        return 1.5 * 2.0 ** (self.digits + 1)

    @property
    def pow2_magic(self) -> float:
        """k + pow2_magic carries the exponent field of 2^k in its lowest bits."""
        return self.to_integer + self.bias

    @property
    def min_normal(self) -> float:
        return 2.0 ** (1 - self.bias)


DOUBLE = Format(
    name="double",
    digits=53,
    bias=1023,
    lift=54,
    sin_range=1.0e9,
    half_pi=(1.5707963267948966, 6.123233995736765e-17, 1.082856673921914e-32),
    two_over_pi=0.6366197723675814,
    # sin to degree 13 on |r| <= pi/4 + 1e-6, relative error 2^-57.9
    sin=(
        0.0,
        -0.1666666666666663,
        0.00833333333332184,
        -0.00019841269829358512,
        2.7557313538499512e-06,
        -2.505073438535038e-08,
        1.5895432971316926e-10,
    ),
    # degree 14 on |r| <= pi/4 + 1e-6, relative error 2^-63.9
    cos=(
        1.0,
        -0.5,
        0.041666666666666595,
        -0.0013888888888873342,
        2.480158728900208e-05,
        -2.755731421703848e-07,
        2.0875705395875334e-09,
        -1.1358749224566681e-11,
    ),
    log2_e=1.4426950408889634,
    ln2=(0.6931471805598903, 5.497923018708371e-14),  # the first of 42 bits
    exp_range=(-746.0, 710.0),
    # degree 9, so that e^r has relative error 2^-57.9
    exp=(
        0.5000000000000011,
        0.16666666666666466,
        0.04166666666652881,
        0.008333333333470201,
        0.001388888894369759,
        0.0001984126954626436,
        2.4801493173867353e-05,
        2.7557558466934947e-06,
        2.7630193797652824e-07,
        2.5007219601734678e-08,
    ),
    # degree 6, so that atanh s has relative error 2^-59.5
    log=(
        -0.6666666666666734,
        -0.3999999999941705,
        -0.2857142874189052,
        -0.2222219862190508,
        -0.18183561889046765,
        -0.15314110858351448,
        -0.14795364079160586,
    ),
    tanh_range=22.0,
    # degree 7, so that tanh r has relative error 2^-56.8
    tanh=(
        -0.3333333333333263,
        0.13333333333143682,
        -0.05396825379273113,
        0.021869480666811682,
        -0.008863039846089956,
        0.0035892800775735815,
        -0.0014315829876357595,
        0.0004766117963080305,
    ),
    sinh_range=711.0,
    # degree 5, so that sinh r has relative error 2^-60.5
    sinh=(
        0.1666666666666666,
        0.008333333333336175,
        0.00019841269837277375,
        2.7557321762087606e-06,
        2.505129948046782e-08,
        1.6185173791093948e-10,
    ),
    # degree 6, so that cosh r has relative error 2^-67.0
    cosh=(
        0.5,
        0.04166666666666665,
        0.0013888888888893432,
        2.4801587296845665e-05,
        2.7557321647135763e-07,
        2.0876105513245426e-09,
        1.1559227885261608e-11,
    ),
    # degree 12, so that asin s has relative error 2^-59.9
    asin=(
        0.1666666666666676,
        0.07499999999970866,
        0.04464285717456058,
        0.030381942709900283,
        0.022372214934590733,
        0.01735161287944751,
        0.01398081098344328,
        0.01139898508729391,
        0.010779869375848648,
        0.003707778084273232,
        0.02170427674806676,
        -0.020994768851364656,
        0.03262604087311782,
    ),
    # degree 19, so that atan q has relative error 2^-57.5
    atan=(
        -0.3333333333333307,
        0.19999999999951748,
        -0.14285714282587975,
        0.11111111007338305,
        -0.0909090700772951,
        0.07692279888082806,
        -0.06666404416490425,
        0.058805297678709026,
        -0.0525352660861308,
        0.047223478108912774,
        -0.04219242249861417,
        0.0366431356452024,
        -0.029905713283331588,
        0.021987040896344248,
        -0.01390254650052797,
        0.007197864156241967,
        -0.0028855985637583686,
        0.0008315556652616627,
        -0.00015221028953778828,
        1.3229916358126086e-05,
    ),
)

SINGLE = Format(
    name="float",
    digits=24,
    bias=127,
    lift=24,
    sin_range=1.0e5,
    half_pi=(1.570796251296997, 7.549789415861596e-08, 5.390302953474238e-15),
    two_over_pi=0.6366197466850281,
    # sin to degree 7 on |r| <= pi/4 + 0.0045, relative error 2^-27.8
    sin=(0.0, -0.16666653752326965, 0.008332106284797192, -0.00019507882825564593),
    # degree 8 on |r| <= pi/4 + 0.0045, relative error 2^-32.9
    cos=(1.0, -0.5, 0.04166664555668831, -0.0013887303648516536, 2.443120138195809e-05),
    log2_e=1.4426950216293335,
    ln2=(0.693145751953125, 1.428606765330187e-06),  # the first of 16 bits
    exp_range=(-104.0, 89.0),
    # degree 4, so that e^r has relative error 2^-28.2
    exp=(0.4999999403953552, 0.16666516661643982, 0.041668105870485306, 0.008369140326976776, 0.0013836714206263423),
    # degree 2, so that atanh s has relative error 2^-30.2
    log=(-0.6666677594184875, -0.3997758626937866, -0.29870694875717163),
    tanh_range=10.0,
    # degree 3, so that tanh r has relative error 2^-31.0
    tanh=(-0.33333322405815125, 0.13332422077655792, -0.053733766078948975, 0.0194725189357996),
    sinh_range=90.0,
    # degree 2, so that sinh r has relative error 2^-29.4
    sinh=(0.16666671633720398, 0.008332660421729088, 0.00020091440819669515),
    # degree 3, so that cosh r has relative error 2^-35.1
    cosh=(0.5, 0.041666675359010696, 0.0013887996319681406, 2.5081968487938866e-05),
    # degree 5, so that asin s has relative error 2^-31.7
    asin=(
        0.16666659712791443,
        0.07500521838665009,
        0.04451335221529007,
        0.0318395234644413,
        0.01431217696517706,
        0.037702105939388275,
    ),
    # degree 9, so that atan q has relative error 2^-30.1
    atan=(
        -0.333333283662796,
        0.1999971568584442,
        -0.14280343055725098,
        0.11061233282089233,
        -0.08821462094783783,
        0.06763648986816406,
        -0.04498325660824776,
        0.02277761697769165,
        -0.007425365969538689,
        0.0011345252860337496,
    ),
)
