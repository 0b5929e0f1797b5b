"""Exported C gives the bits of Python at every optimisation level, in both precisions, with a C library and without,
is clean under gcc's checkers, and takes the same instructions for every input."""

import ctypes
import math
import re
import shutil
import subprocess
from fractions import Fraction
from functools import cache
from itertools import product

import casadi as ca
import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from flexjoint.compiler import pipeline
from flexjoint.compiler.c import export as c
from flexjoint.compiler.ir.program import ARITY, LANES, Array
from flexjoint.compiler.ir.reference import SingleArithmetic, evaluate, evaluate_rows
from flexjoint.compiler.ir.scan import operation, tracing
from flexjoint.compiler.pipeline import trace
from flexjoint.dynamics.recursion import packed_jets, sweeps
from support.loops import LOOPS, program_of
from support.marks import some_long
from support.programs import (
    ALGORITHMS,
    ROBOTS,
    SPECIAL,
    SPECIAL_SINGLE,
    inputs_of,
    kernel_of,
    raw,
    same_bits,
)

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
COMPILERS = [x for x in ("gcc", "clang") if shutil.which(x)]
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
FLAGS = [*WARNINGS, "-ffp-contract=off"]
FREESTANDING = ["-ffreestanding", "-fno-math-errno"]
LEVELS = ["-O0", "-O2", "-O3"]
SOFTWARE = ["-DFJ_HARDWARE_FMA=0", "-DFJ_HARDWARE_SQRT=0"]


def compiled(kernel, folder, *options, **keywords):
    """The function of a shared library; freestanding code is linked without any."""
    c.export(kernel, "function", folder, "a test", **keywords)
    library = folder / "function.so"
    end = ["-nostdlib", *FREESTANDING] if keywords.get("freestanding") else ["-lm"]
    shared = ["-shared", "-fPIC", "-o", library, folder / "function.c", *end]
    subprocess.run(["gcc", *FLAGS, *options, *shared], check=True)
    return ctypes.CDLL(str(library)).function


def run(function, kernel, arrays):
    """Results and status of one call."""
    outputs = [np.full(array.shape, 7.0, dtype=arrays[0].dtype) for array in kernel.outputs]
    status = function(*(ctypes.c_void_p(x.ctypes.data) for x in [*arrays, *outputs]))
    return outputs, status


def assert_single_bits(functions, kernel, sets):
    """All functions give the bits of the interpreter in single precision, and say whether they are finite."""
    rows = [[np.asarray(x, dtype=np.float32) for x in arrays] for arrays in sets]
    expected = evaluate_rows(kernel.program, [np.array(column) for column in zip(*rows)], SingleArithmetic())
    for k, arrays in enumerate(rows):
        for function in functions:
            found, status = run(function, kernel, arrays)
            assert all(same_bits(x, y[k]) for x, y in zip(found, expected))
            assert status == (not all(np.isfinite(y[k]).all() for y in expected))
    return expected


@pytest.mark.parametrize("function", LOOPS)
def test_loops_have_the_bits_of_the_kernel(function, tmp_path):
    kernel = pipeline.compile(program_of(function))
    sets = inputs_of(kernel.program, 20)
    for k, level in enumerate(LEVELS):
        exported = compiled(kernel, tmp_path / level, level, freestanding=k == 1)
        for arrays in sets:
            expected, bad = raw(kernel._code.address, kernel.program, arrays)
            found, status = run(exported, kernel, arrays)
            assert status == bad and all(same_bits(x, y) for x, y in zip(found, expected))
    single = compiled(kernel, tmp_path / "single", "-O2", float32=True)
    assert_single_bits([single], kernel, inputs_of(kernel.program, 20, SPECIAL_SINGLE))


def test_the_loop_over_links_is_exported(tmp_path, monkeypatch):
    """... cleanly: no warning, no finding of the analyzer, nothing from the library where freestanding."""
    monkeypatch.setattr(sweeps, "LOOP_FROM", 0)
    monkeypatch.setattr(packed_jets, "PACKED_JOINTS", 0)
    robot = fj.random_robot(5, 1, prismatic=0.0, elastic=1.0)
    program, result = fj.inverse_dynamics.trace(robot, fj.inverse_dynamics.structure(robot))
    kernel = pipeline.compile(program, result)
    exported = compiled(kernel, tmp_path, "-O2", "-fanalyzer", freestanding=True)
    undefined = subprocess.run(["nm", "-uD", tmp_path / "function.so"], capture_output=True, text=True, check=True)
    assert "mem" not in undefined.stdout
    for arrays in np.random.default_rng(0).normal(size=(5, 5, 5)):
        assert same_bits(run(exported, kernel, list(arrays))[0][0], kernel(*arrays))


def one_level_each():
    """Every algorithm with every robot, at one level; half of them in long tests."""
    for (k, algorithm), (i, robot) in product(enumerate(ALGORITHMS), enumerate(ROBOTS)):
        yield pytest.param(algorithm, robot, LEVELS[(k + i) % 3], marks=[pytest.mark.long] * ((k + i) % 2))


@pytest.mark.parametrize(("algorithm", "robot", "level"), [*one_level_each()])
def test_exported_code_has_the_bits_of_the_kernel(algorithm, robot, level, tmp_path):
    """Every operation at every level is tested below."""
    kernel = kernel_of(algorithm, robot)
    function = compiled(kernel, tmp_path, level)
    for arrays in inputs_of(kernel.program, 20):
        expected, bad = raw(kernel._code.address, kernel.program, arrays)
        found, status = run(function, kernel, arrays)
        assert status == bad
        assert all(same_bits(x, y) for x, y in zip(found, expected))


PAIRS = {f"{x}-{y}": (x, y) for x, y in zip([*ALGORITHMS, *ALGORITHMS], ROBOTS)}  # five algorithms, five robots


@pytest.mark.parametrize(("algorithm", "robot"), some_long(PAIRS, "inverse_dynamics-lwr"))
def test_single_precision_has_the_bits_of_the_interpreter(algorithm, robot, tmp_path):
    kernel = kernel_of(algorithm, robot)
    functions = [compiled(kernel, tmp_path / level, level, float32=True) for level in LEVELS]
    results = assert_single_bits(functions, kernel, inputs_of(kernel.program, 20, SPECIAL_SINGLE))
    finite = np.logical_and.reduce([np.isfinite(x).reshape(len(x), -1).all(axis=1) for x in results])
    assert finite.sum() > 15 and (algorithm == "mass_matrix" or not finite.all())


@pytest.mark.parametrize("options", [[], ["-mfma"]], ids=["software", "hardware"])
@pytest.mark.parametrize(("algorithm", "robot"), some_long(dict([*PAIRS.items()][1:4]), "torque_derivatives-hua"))
def test_freestanding_code_has_the_same_bits(algorithm, robot, options, tmp_path):
    if options and "fma" not in processor_flags():
        pytest.skip("no FMA instructions")
    kernel = kernel_of(algorithm, robot)
    levels = ["-O2"] if options else LEVELS
    functions = [compiled(kernel, tmp_path / level, level, *options, freestanding=True) for level in levels]
    for arrays in inputs_of(kernel.program, 10):
        expected, bad = raw(kernel._code.address, kernel.program, arrays)
        for function in functions:
            found, status = run(function, kernel, arrays)
            assert status == bad
            assert all(same_bits(x, y) for x, y in zip(found, expected))


def processor_flags():
    with open("/proc/cpuinfo") as file:
        return next((line.split() for line in file if line.startswith("flags")), [])


# Every operation ------------------------------------------------------------------------------------------------


@cache
def every_operation():
    """One kernel with one output for each operation, of inputs a, b, c."""
    a, b, d = (ca.SX.sym(x) for x in "abc")
    with tracing() as definitions:
        differing = operation("xor", a, b)
    results = {
        "add": a + b, "sub": a - b, "mul": a * b, "div": a / b, "neg": -a, "fma": b * d + a, "sqrt": ca.sqrt(a),
        "abs": ca.fabs(a), "floor": ca.floor(a), "lt": a < b, "le": a <= b, "eq": a == b,
        "select": ca.if_else(a, b, 0), "sin": ca.sin(a), "cos": ca.cos(a), "exp": ca.exp(a), "log": ca.log(a),
        "atan2": ca.atan2(a, b), "tanh": ca.tanh(a), "cbrt": a ** (1 / 3),
        "sinh": ca.sinh(a), "cosh": ca.cosh(a), "asin": ca.asin(a), "acos": ca.acos(a),
        "xor": differing,
    }  # fmt: skip
    inputs = [(Array(str(x), ()), x) for x in (a, b, d)]
    outputs = [(Array(name, ()), ca.SX(x)) for name, x in results.items()]
    program = trace("operations", inputs, outputs, definitions)
    plain = set(ARITY) - {"pack", *LANES}
    assert set(program.counts) >= plain == set(results)
    return pipeline.compile(program)


def states(single):
    rng = np.random.default_rng(1)
    values = [*(SPECIAL_SINGLE if single else SPECIAL), math.inf, -math.inf, math.nan, 0.5, -2.5, 3.0]
    size = 10.0 ** rng.integers(-30 if single else -300, 30 if single else 300, size=(100, 3))
    sets = [*rng.normal(size=(100, 3)), *(rng.normal(size=(100, 3)) * size), *rng.choice(values, size=(200, 3))]
    return [[np.array(float(np.float32(x)) if single else x) for x in row] for row in sets]


@pytest.mark.parametrize("options", [[], SOFTWARE, ["-mfma"]], ids=["library", "software", "hardware"])
@pytest.mark.parametrize("float32", [False, True])
def test_every_operation(float32, options, tmp_path):
    if "-mfma" in options and "fma" not in processor_flags():
        pytest.skip("no FMA instructions")
    kernel = every_operation()
    keywords = {"float32": float32, "freestanding": bool(options)}
    levels = ["-O2"] if "-mfma" in options else LEVELS
    functions = [compiled(kernel, tmp_path / level, level, *options, **keywords) for level in levels]
    if float32:
        assert_single_bits(functions, kernel, states(True))
    else:
        for arrays in states(False):
            expected = evaluate(kernel.program, *arrays)
            for function in functions:
                found, _ = run(function, kernel, arrays)
                assert all(same_bits(x, y) for x, y in zip(found, expected))


def test_fma_in_single_precision_rounds_once():
    """Against exact fractions; 97 · 172961 = 2²⁴ + 1 is half-way between two floats, so any addend decides."""
    rng = np.random.default_rng(2)
    x, y, z = (np.float32(rng.normal(size=3000) * 2.0 ** rng.integers(-20, 20, 3000)) for _ in range(3))
    z[:1000] = -x[:1000] * y[:1000] * np.float32(1.0 + 2.0**-20)
    x[1000:2000] *= np.float32(2.0**-70)
    y[1000:2000] *= np.float32(2.0**-70)
    z[1000:2000] *= np.float32(2.0**-140)
    half = [(97.0 * 2.0**-k, 172961.0 * 2.0**-k, s * 2.0 ** (-60 - k)) for k in range(0, 70, 7) for s in (1.0, -1.0)]
    x, y, z = (np.append(a, np.float32(b)) for a, b in zip((x, y, z), zip(*half)))
    found = SingleArithmetic().fma(x, y, z)
    twice = np.float32(np.float64(x) * y + z)
    assert np.count_nonzero(found != twice) >= 5  # the cases tell one rounding from two
    for k in range(len(x)):
        assert found[k] == nearest_single(Fraction(float(x[k])) * Fraction(float(y[k])) + Fraction(float(z[k])))


def nearest_single(exact):
    """The float nearest to a fraction, ties to even."""
    if exact == 0:
        return np.float32(0.0)
    exponent = max(math.frexp(float(abs(exact)))[1] - 24, -149)
    return np.float32(math.ldexp(round(exact / Fraction(2) ** exponent), exponent))


# What is written ------------------------------------------------------------------------------------------------

long = pytest.mark.long
VARIANTS = {
    "double": [],
    "float32": ["--float32"],
    "freestanding": ["--freestanding"],
    "float32, freestanding": ["--float32", "--freestanding"],
}
NAME = "inverse_dynamics_kuka_lwr"


TWO = ["double", "float32, freestanding", *(pytest.param(x, marks=long) for x in ("float32", "freestanding"))]


@pytest.fixture(scope="module", params=TWO)
def lwr(request, tmp_path_factory):
    """The elastic 7R LWR, exported from the command line."""
    folder = tmp_path_factory.mktemp("lwr")
    command = ["export-c", "kuka_lwr", "inverse_dynamics", "-o", str(folder), *VARIANTS[request.param]]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    return folder


def variant(folder):
    """(number type, freestanding) of what was written."""
    text = (folder / f"{NAME}.c").read_text()
    return "float" if "const float v0" in text else "double", "math.h" not in text


def test_the_example_checks_itself(lwr):
    done = subprocess.run(["make", "-s", "check"], cwd=lwr, check=True, capture_output=True, text=True)
    more = r", errors up to 0\.\d\d of their bounds" if variant(lwr)[0] == "float" else ""
    assert re.fullmatch(rf"{NAME}: 8 states, 0 differences{more}\n", done.stdout)
    example = lwr / "example.c"
    text = example.read_text()
    tables = ["table", *(["exact"] if more else [])]
    for table in tables:
        pattern = rf"(tau_{table}\[8\]\[7\] = \{{\s*\{{\(?-?0x1\.)(..)"
        damaged = re.sub(pattern, lambda m: m[1] + ("11" if m[2] != "11" else "22"), text)
        assert damaged != text
        try:
            example.write_text(damaged)
            assert subprocess.run(["make", "-s", "check"], cwd=lwr, capture_output=True).returncode != 0
        finally:
            example.write_text(text)


@pytest.mark.parametrize("lwr", some_long([*VARIANTS], *[*VARIANTS][1:]), indirect=True)
def test_the_makefile_uses_the_hardware_fma(lwr):
    """... where this machine has it, unless it is told otherwise; the bits are the same."""

    def has_instruction(*variables):
        subprocess.run(["make", "-s", "-B", *variables, "check"], cwd=lwr, check=True, capture_output=True)
        code = subprocess.run(["objdump", "-d", f"{NAME}.o"], cwd=lwr, check=True, capture_output=True, text=True)
        return "vfmadd" in code.stdout

    assert has_instruction() == ("fma" in processor_flags())
    assert not has_instruction("FMA=")
    assert "-ffp-contract=off" in (lwr / "Makefile").read_text()


def test_the_example_finds_states_within_reach(tmp_path):
    """Random stiffnesses of size 1 are out of reach: the example looks for larger ones; here with a search."""
    robot = fj.load("vsa_3r")
    springs = fj.springs.CubicSpring(400.0, 2000.0), fj.springs.CubicSpring(300.0, 5000.0)
    robot = robot.with_drives([fj.drives.AntagonisticDrive(*springs, *joint.drive.motors) for joint in robot.joints])
    fj.export_c(fj.inverse_dynamics, robot, tmp_path, stiffness=3)
    done = subprocess.run(["make", "-s", "check"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "8 states, 0 differences" in done.stdout


def test_the_header_says_what_is_what(lwr):
    real, _ = variant(lwr)
    text = (lwr / f"{NAME}.h").read_text()
    assert fj.load("kuka_lwr").digest in text
    assert "in  q: 7, rad | m; joint1, joint2" in text
    assert "out tau: 7, Nm | N; joint1" in text
    assert f"const {real} q[7]" in text
    assert f"reach to {1e9 if real == 'double' else 1e5:g} rad" in text


def test_only_mathematics_is_taken_from_the_library(lwr):
    real, freestanding = variant(lwr)
    text = (lwr / f"{NAME}.c").read_text()
    headers = {"float.h", "stdint.h", f"{NAME}.h"} | (set() if freestanding else {"math.h"})
    assert set(re.findall(r"#include [<\"](\S+)[>\"]", text)) == headers
    flags = [*FLAGS, *FREESTANDING] if freestanding else FLAGS
    wanted = set() if freestanding else {"fma" if real == "double" else "fmaf"}
    for options in (["-O0"], ["-O3"]) if freestanding else (["-O0"], ["-O1", "-mfma"]):
        subprocess.run(["gcc", *flags, *options, "-c", f"{NAME}.c", "-o", "object.o"], cwd=lwr, check=True)
        found = subprocess.run(["nm", "-u", "object.o"], cwd=lwr, check=True, capture_output=True, text=True).stdout
        assert set(found.split()) - {"U"} == (wanted if "-mfma" not in options else set())


@pytest.mark.parametrize("lwr", ["float32"], indirect=True)
def test_single_precision_computes_in_single_precision(lwr):
    text = (lwr / f"{NAME}.c").read_text()
    assert "double" not in text
    assert not re.search(r"(?<![\w.])(fma|sqrt|fabs|floor|copysign)\(", text)
    subprocess.run(["gcc", *FLAGS, "-Wdouble-promotion", "-c", f"{NAME}.c", "-o", "object.o"], cwd=lwr, check=True)


# Checkers -------------------------------------------------------------------------------------------------------

DRIVER = """\
#include <stdio.h>
#include "function.h"
int main(void)
{
    REAL a, b, c, y[COUNT];
    while (fread(&a, sizeof a, 1, stdin) && fread(&b, sizeof b, 1, stdin) && fread(&c, sizeof c, 1, stdin)) {
        function(&a, &b, &c, ARGUMENTS);
        fwrite(y, sizeof y, 1, stdout);
    }
    return 0;
}
"""


def driver(folder, float32, freestanding, *options):
    """A program that applies every operation to triples of numbers from stdin."""
    kernel = every_operation()
    c.export(kernel, "function", folder, "a test", float32=float32, freestanding=freestanding)
    arguments = ", ".join(f"&y[{k}]" for k in range(len(kernel.outputs)))
    real = "float" if float32 else "double"
    text = DRIVER.replace("REAL", real).replace("ARGUMENTS", arguments).replace("COUNT", str(len(kernel.outputs)))
    (folder / "driver.c").write_text(text)
    subprocess.run(["gcc", *FLAGS, *options, "-o", "driver", "driver.c", "function.c", "-lm"], cwd=folder, check=True)
    return folder / "driver"


FOUR = [(False, False), (True, True), pytest.param(False, True, marks=long), pytest.param(True, False, marks=long)]


@pytest.mark.parametrize(("float32", "freestanding"), FOUR)
def test_clean_under_sanitizers_and_the_analyzer(float32, freestanding, tmp_path):
    """Every operation, on numbers of every kind."""
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = driver(tmp_path, float32, freestanding, "-O1", "-g", *checks, *SOFTWARE)
    real = np.float32 if float32 else np.float64
    data = np.array(states(float32), dtype=real)
    done = subprocess.run([program], input=data.tobytes(), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    found = np.frombuffer(done.stdout, dtype=real).reshape(len(data), -1)
    assert same_bits(found[:5], expected_rows(data[:5]))
    analyzed = subprocess.run(
        ["gcc", *FLAGS, "-O1", "-fanalyzer", *SOFTWARE, "-c", "function.c", "-o", "analyzed.o"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert analyzed.stderr == ""


def expected_rows(data):
    program = every_operation().program
    if data.dtype == np.float32:
        return np.stack(evaluate_rows(program, list(data.T), SingleArithmetic()), axis=1)
    return np.array([np.ravel(evaluate(program, *row)) for row in data])


@pytest.mark.parametrize("lwr", ["double", pytest.param("float32", marks=long)], indirect=True)
def test_the_robot_is_clean_too(lwr):
    sources = ["example.c", f"{NAME}.c"]
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run(["gcc", *FLAGS, "-O1", *checks, "-o", "checked", *sources, "-lm"], cwd=lwr, check=True)
    subprocess.run(["./checked"], cwd=lwr, check=True, capture_output=True)
    for compiler in COMPILERS:
        flags = ["-fanalyzer"] if compiler == "gcc" else []
        command = [compiler, *FLAGS, *flags, "-O1", "-c", f"{NAME}.c", "-o", "analyzed.o"]
        analyzed = subprocess.run(command, cwd=lwr, check=True, capture_output=True, text=True)
        assert analyzed.stderr == ""


@pytest.mark.parametrize("flags", [["-ffast-math"], ["-m32", "-mfpmath=387"]], ids=["fast", "x87"])
@pytest.mark.parametrize("float32", [False, True])
def test_flags_that_would_change_bits_are_refused(float32, flags, tmp_path):
    c.export(kernel_of("mass_matrix", "hua"), "function", tmp_path, "a test", float32=float32, freestanding=True)
    command = ["gcc", "-std=c99", *FREESTANDING, *flags, "-c", "function.c", "-o", "refused.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "IEEE 754 arithmetic is needed" in done.stderr


@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")
@pytest.mark.parametrize(("float32", "freestanding"), FOUR)
def test_every_operation_takes_the_same_instructions(float32, freestanding, tmp_path):
    options = SOFTWARE if freestanding else ["-mfma"]
    program = driver(tmp_path, float32, freestanding, "-O2", "-fno-math-errno", *options)
    real = np.float32 if float32 else np.float64
    some = np.array(states(float32), dtype=real)[[*range(5), *range(100, 105), *range(-100, 0, 4)]]
    assert len({*instructions(program, "function", some.tobytes())}) == 1


ROBOT_DRIVER = """\
#include <stdio.h>
#include "@NAME@.h"
int main(void)
{
    @REAL@ x[35], tau[7];
    while (fread(x, sizeof x, 1, stdin))
        @NAME@(x, x + 7, x + 14, x + 21, x + 28, tau);
    return 0;
}
"""


@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")
def test_every_input_takes_the_same_instructions(lwr):
    """Ordinary numbers, and every special one."""
    real, freestanding = variant(lwr)
    (lwr / "one.c").write_text(ROBOT_DRIVER.replace("@NAME@", NAME).replace("@REAL@", real))
    options = [] if freestanding else ["-mfma"]
    subprocess.run(["gcc", *FLAGS, "-O2", *options, "-o", "one", "one.c", f"{NAME}.c", "-lm"], cwd=lwr, check=True)
    values = [0.3, *(SPECIAL if real == "double" else SPECIAL_SINGLE), math.inf, math.nan]
    data = np.array([[x] * 35 for x in values], dtype=np.float64 if real == "double" else np.float32)
    data = np.append(data, np.random.default_rng(0).normal(size=(3, 35)).astype(data.dtype), axis=0)
    counts = instructions(lwr / "one", NAME, data.tobytes())
    assert len(counts) == len(data)
    assert len({*counts}) == 1
    assert 1500 < counts[0] < (10_000 if not freestanding else 1_000_000)


def instructions(program, function, data):
    """How many instructions each call of a function took, by callgrind."""
    options = [f"--toggle-collect={function}", f"--dump-after={function}", "--callgrind-out-file=counts"]
    command = ["valgrind", "--tool=callgrind", *options, program]
    subprocess.run(command, cwd=program.parent, check=True, capture_output=True, input=data)
    files = sorted(program.parent.glob("counts.*"), key=lambda x: int(x.suffix[1:]))
    counts = [int(re.search(r"^totals: (\d+)", file.read_text(), re.MULTILINE).group(1)) for file in files]
    return [x for x in counts if x]


# What is refused ------------------------------------------------------------------------------------------------


def test_names_that_c_cannot_have(tmp_path):
    with pytest.raises(fj.InputError, match="no name of a C function"):
        c.export(kernel_of("mass_matrix", "hinge"), "7up; drop", tmp_path, "")
    text = c.header(kernel_of("mass_matrix", "hinge"), "f", "a comment that */ ends early", c.Target())
    assert text.count("*/") == 1
    result = CliRunner().invoke(app, ["export-c", "kuka_lwr", "robots", "-o", str(tmp_path)])
    assert result.exit_code == 2


def test_what_single_precision_cannot_hold(tmp_path):
    x = ca.SX.sym("x")
    large = pipeline.compile(trace("large", [(Array("x", ()), x)], [(Array("y", ()), x + 1e200)]))
    with pytest.raises(fj.InputError, match=r"the constant 1e\+200 is beyond single precision"):
        c.export(large, "large", tmp_path, "", float32=True)
    overflow = pipeline.compile(trace("overflow", [(Array("x", ()), x)], [(Array("y", ()), (x + 1e30) * (x + 1e30))]))
    with pytest.raises(fj.InputError, match="overflow is not finite at any of 64 random states in single precision"):
        c.export(overflow, "overflow", tmp_path, "", float32=True)
    assert not list(tmp_path.iterdir())
