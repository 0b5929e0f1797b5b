"""Exported C gives the bits of the kernel at every optimisation level, and is clean under gcc's checkers."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from flexjoint.compiler import c
from support.programs import ALGORITHMS, inputs_of, kernel_of, same_bits

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off"]


def compiled(kernel, folder, *options):
    c.export(kernel, "function", folder, "a test")
    library = folder / "function.so"
    shared = ["-shared", "-fPIC", "-o", library, folder / "function.c", "-lm"]
    subprocess.run(["gcc", *FLAGS, *options, *shared], check=True)
    return ctypes.CDLL(str(library)).function


@pytest.mark.parametrize("robot", ["hua", "chain", "tree", "hinge"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_exported_code_has_the_bits_of_the_kernel(algorithm, robot, tmp_path):
    kernel = kernel_of(algorithm, robot)
    functions = [compiled(kernel, tmp_path / level, level) for level in ("-O0", "-O2", "-O3")]
    pointer = ctypes.POINTER(ctypes.c_double)
    for arrays in inputs_of(kernel.program, 20):
        try:
            value = kernel(*arrays)
            results = list(value) if isinstance(value, tuple) else [value]
            expected = [y for x, n in zip(results, kernel.result.layers) for y in ([x] if n is None else x)]
        except fj.NonFiniteError:
            expected = None
        for function in functions:
            outputs = [np.full(array.shape, 7.0) for array in kernel.outputs]
            status = function(*(x.ctypes.data_as(pointer) for x in [*arrays, *outputs]))
            assert status == (expected is None)
            if expected is not None:
                assert all(same_bits(x, y) for x, y in zip(outputs, expected))


@pytest.fixture(scope="module")
def lwr(tmp_path_factory):
    """The elastic 7R LWR, exported from the command line."""
    folder = tmp_path_factory.mktemp("lwr")
    result = CliRunner().invoke(app, ["export-c", "kuka_lwr", "inverse_dynamics", "-o", str(folder)])
    assert result.exit_code == 0, result.output
    return folder


def test_the_example_checks_itself(lwr):
    done = subprocess.run(["make", "-s", "check"], cwd=lwr, check=True, capture_output=True, text=True)
    assert done.stdout == "inverse_dynamics_kuka_lwr: 8 states, 0 differences\n"
    example = lwr / "example.c"
    text = example.read_text()
    damaged = re.sub(r"(tau_table\[8\]\[7\] = \{\s*\{-?0x1\.)(.)", lambda m: m[1] + ("1" if m[2] != "1" else "2"), text)
    assert damaged != text
    try:
        example.write_text(damaged)
        assert subprocess.run(["make", "-s", "check"], cwd=lwr, capture_output=True).returncode != 0
    finally:
        example.write_text(text)


def test_the_header_says_what_is_what(lwr):
    text = (lwr / "inverse_dynamics_kuka_lwr.h").read_text()
    assert fj.load("kuka_lwr").digest in text
    assert "in  q: 7, rad | m; joint1, joint2" in text
    assert "out tau: 7, Nm | N; joint1" in text


def test_only_mathematics_is_taken_from_the_library(lwr):
    text = (lwr / "inverse_dynamics_kuka_lwr.c").read_text()
    assert set(re.findall(r"#include [<\"](\S+)[>\"]", text)) == {"math.h", "stdint.h", "inverse_dynamics_kuka_lwr.h"}
    subprocess.run(["gcc", *FLAGS, "-O2", "-c", "inverse_dynamics_kuka_lwr.c", "-o", "object.o"], cwd=lwr, check=True)
    wanted = subprocess.run(["nm", "-u", "object.o"], cwd=lwr, check=True, capture_output=True, text=True).stdout
    assert set(wanted.split()) <= {"U", "fma", "_GLOBAL_OFFSET_TABLE_"}


def test_clean_under_sanitizers_and_the_analyzer(lwr):
    sources = ["example.c", "inverse_dynamics_kuka_lwr.c"]
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run(["gcc", *FLAGS, "-O1", *checks, "-o", "checked", *sources, "-lm"], cwd=lwr, check=True)
    subprocess.run(["./checked"], cwd=lwr, check=True)
    analyzed = subprocess.run(
        ["gcc", *FLAGS, "-O1", "-fanalyzer", "-c", "inverse_dynamics_kuka_lwr.c", "-o", "analyzed.o"],
        cwd=lwr, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert analyzed.stderr == ""


@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")
def test_every_input_takes_the_same_instructions(lwr):
    """Counted by callgrind inside the function, for ordinary numbers, zeros and angles out of range."""
    counts = set()
    for value in ("0.3", "0.0", "-1e3", "1e300"):
        (lwr / "one.c").write_text(
            '#include "inverse_dynamics_kuka_lwr.h"\n'
            "int main(void)\n{\n    double x[7], tau[7];\n"
            f"    for (int k = 0; k < 7; k++)\n        x[k] = {value};\n"
            "    return inverse_dynamics_kuka_lwr(x, x, x, x, x, tau) > 1;\n}\n"
        )
        command = ["gcc", *FLAGS, "-O2", "-mfma", "-o", "one", "one.c", "inverse_dynamics_kuka_lwr.c", "-lm"]
        subprocess.run(command, cwd=lwr, check=True)
        output = "--callgrind-out-file=counts"
        count = ["valgrind", "--tool=callgrind", "--toggle-collect=inverse_dynamics_kuka_lwr", output, "./one"]
        done = subprocess.run(count, cwd=lwr, check=True, capture_output=True, text=True)
        counts.add(int(re.search(r"Collected : (\d+)", done.stderr).group(1)))
    assert len(counts) == 1
    assert 1500 < counts.pop() < 10000


def test_names_that_c_cannot_have(tmp_path):
    with pytest.raises(fj.InputError, match="no name of a C function"):
        c.export(kernel_of("mass_matrix", "hinge"), "7up; drop", tmp_path, "")
    text = c.header(kernel_of("mass_matrix", "hinge"), "f", "a comment that */ ends early")
    assert text.count("*/") == 1
    result = CliRunner().invoke(app, ["export-c", "kuka_lwr", "robots", "-o", str(tmp_path)])
    assert result.exit_code == 1
