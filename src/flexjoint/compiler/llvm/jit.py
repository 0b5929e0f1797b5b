"""From LLVM IR text to machine code at an address.

    code = load_object(compile_object(ir))        # code.address is that of the function `kernel`

Of LLVM's passes only the combination of instructions runs: Programs have no common subexpressions, dead code or loops
worth more.  The code is as fast as that of O1 or O3 (kernels and simulated periods of the 7R, within 2 %), and the
passes of a closed loop take 11 ms instead of 75 ms with O1.  llvmlite is imported when the first kernel is compiled.

Code is compiled for this processor.  $FLEXJOINT_CPU, one of `LEVELS`, compiles it for a lesser one, with bit-identical
results: tests on one machine stand for others.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
from functools import cache
from typing import Any, NamedTuple

from ...errors import InputError
from .stack import SYMBOL

LEVELS = {
    "x86-64-v2": ("sse4.2", 2),
    "x86-64-v3": ("avx2", 4),
    "x86-64-v4": ("avx512f", 8),
}  # of the x86-64 ABI: a feature that distinguishes them, doubles in a vector register
_lock = threading.Lock()
_numbers = itertools.count()


class MachineCode(NamedTuple):
    """A function in memory.  `address` is valid while `owner` is referenced; a call takes at most `stack` bytes."""

    address: int
    owner: Any
    object_code: bytes
    stack: int


class Target(NamedTuple):
    """The processor that code is compiled for, and the doubles in one of its vector registers."""

    cpu: str
    features: str
    lanes: int


@cache
def target() -> Target:
    """This processor, or the one $FLEXJOINT_CPU asks for."""
    import llvmlite.binding as llvm

    host, chosen = llvm.get_host_cpu_features(), os.environ.get("FLEXJOINT_CPU", "")
    if not chosen:
        lanes = 8 if host.get("avx512f") else 4 if host.get("avx") else 2
        return Target(llvm.get_host_cpu_name(), host.flatten(), lanes)
    if chosen not in LEVELS:
        raise InputError(f"FLEXJOINT_CPU is {chosen[:200]!r}; it must be one of {', '.join(LEVELS)}, or unset")
    feature, lanes = LEVELS[chosen]
    if not host.get(feature):
        raise InputError(f"FLEXJOINT_CPU is {chosen!r}, but this processor has no {feature}; unset it")
    return Target(chosen, "", lanes)


@cache
def _llvm() -> tuple[Any, Any]:
    """llvmlite's binding and the target machine."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features, _ = target()
    native = llvm.Target.from_triple(llvm.get_process_triple())
    machine = native.create_target_machine(cpu=cpu, features=features, opt=1, reloc="pic", codemodel="small")
    return llvm, machine


@cache
def processor() -> str:
    """LLVM, llvmlite and the processor: what object code depends on beside its source."""
    llvm, machine = _llvm()
    import llvmlite

    cpu, features, _ = target()
    return f"{llvmlite.__version__} {llvm.llvm_version_info} {machine.triple} {cpu} {features}"


def simd_lanes() -> int:
    """How many doubles a vector register of the target holds."""
    return target().lanes


@cache
def _linker() -> Any:
    llvm, machine = _llvm()
    return llvm.create_lljit_compiler(machine)


def compile_object(ir: str) -> bytes:
    """Object code of the IR, optimised for this machine."""
    with _lock:
        _, machine = _llvm()
        return machine.emit_object(_optimised(ir))


def assembly(ir: str) -> str:
    """Assembly of the IR, optimised for this machine."""
    with _lock:
        _, machine = _llvm()
        return machine.emit_assembly(_optimised(ir))


def load_object(object_code: bytes, symbol: str = "kernel") -> MachineCode:
    """The function `symbol` of the object code, linked into this process."""
    with _lock:
        llvm, _ = _llvm()
        library = llvm.JITLibraryBuilder().add_object_img(object_code).add_current_process()
        library = library.export_symbol(symbol).export_symbol(SYMBOL)
        owner = library.link(_linker(), f"flexjoint_{next(_numbers)}")
        return MachineCode(owner[symbol], owner, object_code, ctypes.c_int64.from_address(owner[SYMBOL]).value)


def _optimised(ir: str) -> Any:
    llvm, machine = _llvm()
    module = llvm.parse_assembly(ir)
    module.verify()
    passes = llvm.create_new_module_pass_manager()
    passes.add_instruction_combine_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return module
