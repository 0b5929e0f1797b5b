"""The same bits on every processor: one digest of everything, under settings that stand for other processors.

OpenBLAS, NumPy and the C library choose their code by the processor; the settings make them choose other code here, and
$FLEXJOINT_CPU makes kernels for another one.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from flexjoint.compiler import pipeline
from flexjoint.compiler.ir.program import Array, Builder, Program
from flexjoint.compiler.llvm import control_word, jit

DIGEST = Path(__file__).parent.parent / "support" / "digest.py"
SETTINGS = [
    {"OPENBLAS_CORETYPE": "Haswell"},
    {"OPENBLAS_CORETYPE": "SkylakeX"},
    {"OPENBLAS_CORETYPE": "Prescott"},
    {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL"},
    {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL X86_V3"},
    {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F"},
    {"FLEXJOINT_CPU": "x86-64-v2"},
    {"FLEXJOINT_CPU": "x86-64-v3"},
    {"FLEXJOINT_CPU": "x86-64-v4"},
]
PROCESSORS = [  # each setting once
    {**SETTINGS[0], **SETTINGS[4], **SETTINGS[6]},
    {**SETTINGS[2], **SETTINGS[5], **SETTINGS[7]},
    pytest.param({**SETTINGS[1], **SETTINGS[3], **SETTINGS[8]}, marks=pytest.mark.long),  # a processor with AVX-512
]
x86 = pytest.mark.skipif(not control_word.X86, reason="settings of x86-64")


def run(code, **settings):
    """Standard output of Python code under these settings alone; NumPy warns of features it cannot disable."""
    known = {key for setting in SETTINGS for key in setting}
    others = {key: value for key, value in os.environ.items() if key not in known}
    environment = {**others, "FLEXJOINT_CACHE": "off", "PYTHONWARNINGS": "ignore", **settings}
    done = subprocess.run([sys.executable, *code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def here():
    return run([str(DIGEST)])


@x86
@pytest.mark.parametrize("settings", PROCESSORS, ids=lambda x: " ".join(f"{k}={v}" for k, v in x.items()))
def test_one_digest_on_every_processor(settings, here):
    """The settings reach different libraries, so three at a time show what each would show alone."""
    if jit.LEVELS[settings["FLEXJOINT_CPU"]][1] > jit.simd_lanes():  # this processor is a lesser one
        settings = {key: value for key, value in settings.items() if key != "FLEXJOINT_CPU"}
    assert run([str(DIGEST)], **settings) == here
    assert len(here.splitlines()) == 9


@x86
def test_the_settings_do_change_other_numbers():
    """... so the test above can fail: BLAS, NumPy's exp and the C library's sine differ under them."""
    code = """
import math, numpy as np
x = np.linspace(-3, 7, 9999)
A = np.random.default_rng(0).normal(size=(40, 3, 3))
print((A @ A[::-1]).tobytes().hex()[:9000], hash(np.exp(x).tobytes()), [math.sin(y) for y in x])
"""
    plain = run(["-c", code], PYTHONHASHSEED="0")
    changed = [setting for setting in SETTINGS[:6] if run(["-c", code], PYTHONHASHSEED="0", **setting) != plain]
    assert {key for setting in changed for key in setting} >= {"OPENBLAS_CORETYPE", "GLIBC_TUNABLES"}


@pytest.mark.parametrize("level", ["pentium", "x" * 999])
def test_an_unknown_processor_is_refused(level):
    code = "import flexjoint as fj; fj.gravity_torque(fj.random_robot(1, 0), [0.1])"
    environment = {**os.environ, "FLEXJOINT_CPU": level}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode and "FLEXJOINT_CPU is" in done.stderr and "must be one of" in done.stderr
    assert len(done.stderr.splitlines()[-1]) < 400


# The control word of SSE ---------------------------------------------------------------------------------------

CONTROL = """
@kernel_stack = constant i64 256
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define i64 @kernel(ptr %word) {
  %old = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %old)
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  %found = load i32, ptr %old
  %wide = zext i32 %found to i64
  ret i64 %wide
}
"""
FLUSH, UPWARDS = 0x8040, 0x4000  # flush to zero and take denormals as zero; round upwards


@pytest.fixture(scope="module")
def set_control():
    """Sets the control word and returns the one before."""
    code = jit.load_object(jit.compile_object(CONTROL))
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_uint32))(code.address)
    return lambda word, owner=code: function(ctypes.byref(ctypes.c_uint32(word)))


@x86
@pytest.mark.parametrize("change", [FLUSH, UPWARDS], ids=["flush to zero", "round upwards"])
@pytest.mark.parametrize("rows", [0, 3, 500])
def test_a_kernel_does_not_depend_on_the_control_word(set_control, change, rows):
    """Another library may have set it; a kernel computes with the default one and puts it back."""
    build = Builder()
    x, y = build.input(0, 0), build.input(1, 0)
    results = ((build.emit("mul", x, y), build.emit("div", x, build.constant(3.0))),)
    program = Program("denormals", (Array("x", ()), Array("y", ())), (Array("z", (2,)),), tuple(build.code), results)
    kernel = pipeline.compile(program)
    given = [np.full(rows, value) if rows else np.array(value) for value in (1e-300, 1e-15)]
    expected, found = (np.empty((rows, 2) if rows else 2) for _ in range(2))
    kernel(*given, out=expected)
    usual = set_control(0x1F80)
    set_control(usual | change)
    try:
        kernel(*given, out=found)
    finally:
        left = set_control(usual)
    assert left & 0xFFC0 == (usual | change) & 0xFFC0
    assert np.all(expected > 0)
    assert found.tobytes() == expected.tobytes()
