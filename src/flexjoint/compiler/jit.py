"""From LLVM IR text to machine code at an address.

LLVM's O1 pipeline without SLP vectorisation is as fast here as O3 and compiles in a third of the time.
llvmlite is imported when the first kernel is compiled.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from functools import cache
from typing import Any, NamedTuple

from .stack import SYMBOL

_lock = threading.Lock()
_numbers = itertools.count()


class MachineCode(NamedTuple):
    """A function in memory: `address` stays valid as long as `owner` is referenced; `stack` bytes are what a call takes
    at most."""

    address: int
    owner: Any
    object_code: bytes
    stack: int


@cache
def _llvm() -> tuple[Any, Any]:
    """llvmlite's binding and the target machine of this computer."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=1,
        reloc="pic",
        codemodel="small",
    )
    return llvm, machine


@cache
def processor() -> str:
    """What object code depends on beside its source: LLVM, llvmlite and the processor."""
    llvm, machine = _llvm()
    import llvmlite

    features = llvm.get_host_cpu_features().flatten()
    return f"{llvmlite.__version__} {llvm.llvm_version_info} {machine.triple} {llvm.get_host_cpu_name()} {features}"


@cache
def simd_lanes() -> int:
    """How many doubles a vector register of this machine holds."""
    llvm, _ = _llvm()
    features = llvm.get_host_cpu_features()
    return 8 if features.get("avx512f") else 4 if features.get("avx") else 2


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
    """The same code as text."""
    with _lock:
        _, machine = _llvm()
        return machine.emit_assembly(_optimised(ir))


def load_object(object_code: bytes, symbol: str = "kernel") -> MachineCode:
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
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.slp_vectorization = False
    options.loop_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module
