"""What bounds a block of four rows on an x86 processor with AVX2: `python -m benchmarks.ports`.

First the processor: short loops of multiply-adds (F), products (M), sums (A) and stores (S) of whole registers, which
do not wait for one another.  Then the kernels: how many of each their code has, and the cycles these take at least if

    cycles ≥ max((F + M)/2, F/2 + S)

as on Zen 3, where no multiply-add starts in a cycle in which a register is stored; the loops show whether that is so.
Stores are what 16 registers cannot hold.  A cycle is half of the time a product takes in a loop of nothing else.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections import Counter

import llvmlite.binding
import numpy as np
from rich.console import Console
from rich.table import Table

import flexjoint as fj
from flexjoint.compiler import jit, llvm

LOOPS = ("MM", "MMS", "FFA", "FFS", "FS", "FMS")  # repeated seven times
TURNS, TRIALS = 2000, 400
INSTRUCTIONS = {
    "M": "vmulpd %ymm0, %ymm1, %ymm{r}",
    "A": "vaddpd %ymm0, %ymm1, %ymm{r}",
    "F": "vfmadd213pd %ymm0, %ymm1, %ymm{r}",
    "S": "vmovapd %ymm0, {at}($0)",
}
KINDS = {"F": r"vfn?m(add|sub)\d+pd", "M": "vmulpd", "A": "v(add|sub)pd"}


def loop_time(pattern: str) -> float:
    """Seconds a pattern takes, of seven in a loop."""
    letters = pattern * 7
    body = "\\0A".join(
        INSTRUCTIONS[x].format(r=2 + k % 14, at=32 * (k % 32)) for k, x in enumerate(letters)
    )  # 14 registers in turn
    clobbered = ",".join(f"~{{ymm{k}}}" for k in range(16))
    ir = f"""
define i64 @kernel(ptr %in, ptr %out) nounwind {{
entry:
  %buffer = alloca [1024 x i8], align 64
  br label %turn
turn:
  %k = phi i64 [0, %entry], [%next, %turn]
  call void asm sideeffect "{body.replace("$0", "${0}")}", "r,~{{memory}},{clobbered}"(ptr %buffer)
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, {TURNS}
  br i1 %more, label %turn, label %end
end:
  ret i64 0
}}
"""
    code = jit.load_object(jit.compile_object(ir))
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(code.address)
    best = float("inf")
    for _ in range(TRIALS):
        start = time.perf_counter()
        call(None, None)
        best = min(best, time.perf_counter() - start)
    return best / (7 * TURNS)


def instruction_counts(kernel: fj.Kernel) -> Counter[str]:
    """Of the code for four rows; S are stores of vector registers, and of their elements."""
    counts: Counter[str] = Counter()
    for name, operands in re.findall(r"^\t(\w+)\t(.*)$", jit.assembly(llvm.kernel_ir(kernel.program, 4)), re.M):
        kind = next((x for x, pattern in KINDS.items() if re.fullmatch(pattern, name)), "")
        if name.startswith("vmov") and operands.endswith(")"):
            kind = "S"
        counts.update([kind, "all"])
    return counts


def row_time(kernel: fj.Kernel, rows: int = 1024) -> float:
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-1, 1, (rows, *x.shape)) for x in kernel.inputs]
    out = kernel(*arrays)
    best = float("inf")
    for _ in range(TRIALS):
        start = time.perf_counter()
        kernel(*arrays, out=out)
        best = min(best, time.perf_counter() - start)
    return best / rows


def main() -> None:
    llvmlite.binding.initialize_native_asmparser()
    times = {pattern: loop_time(pattern) for pattern in LOOPS}
    cycle = times["MM"]
    table = Table("loop of", "cycles", "(F + M)/2", "F/2 + S", title=f"Loops; a cycle takes {cycle * 1e9:.3f} ns")
    for pattern, seconds in times.items():
        F, M, S = (pattern.count(x) for x in "FMS")
        table.add_row(pattern, f"{seconds / cycle:.2f}", f"{(F + M) / 2:.1f}", f"{F / 2 + S:.1f}")
    Console().print(table)
    robot = fj.load("kuka_lwr")
    kernels = {
        "inverse dynamics, rigid": fj.compile(fj.inverse_dynamics, robot.without_drives()),
        "inverse dynamics, elastic": fj.compile(fj.inverse_dynamics, robot),
        "forward dynamics, rigid": fj.compile(fj.forward_dynamics, robot.rigid()),
    }
    table = Table("four rows of the 7R LWR", "F", "M", "A", "S", "all", "at least, ns a row", "measured, ns a row")
    for name, kernel in kernels.items():
        counts = instruction_counts(kernel)
        F, M, S = (counts[x] for x in "FMS")
        least = max((F + M) / 2, F / 2 + S) * cycle / 4
        cells = [str(counts[x]) for x in ("F", "M", "A", "S", "all")]
        table.add_row(name, *cells, f"{least * 1e9:.0f}", f"{row_time(kernel) * 1e9:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
