"""`@algorithm`: one object for one public function.

An algorithm is written once, as a pure function of a Robot and CasADi SX expressions.  The decorated object

- called with SX returns SX, so algorithms compose and differentiate;
- called with arrays compiles a kernel for that robot, keeps it, and calls it.

The parameters of the function say what it takes: positional ones are arrays, `*higher` further derivatives
of the last of them, keyword-only ones are either groups of stacks (`wrenches`, `base`, `tracking`) or options that
select the code (`order`, `link`, `variant`).  Shapes and units come from `signals.py`, by name.
"""

from __future__ import annotations

import inspect
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from ..compiler.ir import packing
from ..compiler.ir.program import Array, Program
from ..compiler.ir.scan import tracing
from ..compiler.ir.trace import check_count, declared
from ..compiler.pipeline import cached, trace
from ..compiler.runtime.calling import COMPILER_STACK, EXTENSION, AlgorithmBase, inherit_vectorcall, with_stack
from ..compiler.runtime.kernel import Kernel, Result
from ..errors import InputError
from ..progress import activity
from ..robot import Robot
from ..robot.parameters import Parameter, select, select_all, with_symbols
from ..spatial import ca, is_symbolic
from .derivatives import Output, at_values, derivatives, in_a_tuple
from .signals import GROUPS, SIGNALS, Signal, Structure, describe, expression, flatten_groups

KERNELS_KEPT = 256  # by each algorithm; the least recently used is dropped


@inherit_vectorcall
class Algorithm(AlgorithmBase):
    """A public function of flexjoint; see the module's docstring."""

    def __init__(
        self,
        function: Callable,
        outputs: str | type,
        arrays: Callable[..., int] | None = None,
        packs: bool = False,
        explain: Callable[..., str | None] | None = None,
    ):
        self.function = function
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.__signature__ = inspect.signature(function)
        parameters = list(self.__signature__.parameters.values())[1:]
        self._positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        self._variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        self._keywords = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        self._outputs = outputs
        self._arrays = arrays
        self._packs = packs
        self._explain = explain
        self._kernels: OrderedDict[tuple[Robot, Structure], Kernel] = OrderedDict()
        self._lock = threading.RLock()

    def __reduce__(self) -> str:
        return self.__name__  # pickled by name, like a function

    def __repr__(self) -> str:
        return f"<algorithm {self.__name__}{self.__signature__}>"

    def _call(
        self, robot: Any = None, *args: Any, out: Any = None, finite: Any = None, threads: int = 1, **keywords: Any
    ) -> Any:
        self._check_robot(robot)
        args, keywords = self._in_order(args, keywords)
        groups, leaves = flatten_groups(self.__name__, keywords)
        structure = Structure(len(args), groups, self._options(keywords))
        if any(is_symbolic(x) for x in (*args, *leaves)):
            if out is not None:
                raise InputError(f"{self.__name__}: out= is for arrays, not for symbolic expressions")
            given = zip(self._described(robot, structure), (*args, *leaves))
            return self._on_expressions(robot, structure, [expression(self.__name__, *pair) for pair in given])
        kernel = self.kernel(robot, structure)
        if not keywords:
            self._remember(robot, kernel)
        asked = {"out": out, "finite": finite, "threads": threads if threads != 1 else None}
        return kernel(*args, *leaves, **{name: x for name, x in asked.items() if x is not None})

    def _on_expressions(self, robot: Robot, structure: Structure, arrays: Iterable[Any]) -> Any:
        """The function itself, of SX; it gets copies, since SX can be written into."""
        positional, groups = structure.arranged(map(ca.SX, arrays))
        return self.function(robot, *positional, **groups, **dict(structure.options))

    def _check_robot(self, robot: Any) -> None:
        if not isinstance(robot, Robot):
            raise InputError(f"{self.__name__}: the first argument is the robot, not {type(robot).__name__}")

    def _in_order(self, args: tuple, keywords: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """Arrays given by keyword moved to their place."""
        keywords = dict(keywords)
        named = self._positional[len(args) :]
        if missing := [name for name in named if name not in keywords]:
            wanted = ", ".join(["robot", *self._positional])
            raise InputError(f"{self.__name__} needs {wanted}; missing: {', '.join(missing)}")
        given = (*args, *(keywords.pop(name) for name in named))
        if len(given) > len(self._positional) and not self._variadic:
            raise InputError(f"{self.__name__} takes {len(self._positional)} arrays, {len(given)} were given")
        return given, keywords

    def _options(self, keywords: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        """The keywords that select code, checked against the type of their default (None: a name)."""
        if unknown := set(keywords) - set(self._keywords):
            known = ", ".join([*self._keywords, "out", "finite", "threads"])
            raise InputError(f"{self.__name__} has no keyword {', '.join(sorted(unknown))}; it knows {known}")
        options = []
        for name, value in sorted(keywords.items()):
            if name in GROUPS or value is None:
                continue
            kind = Integral if isinstance(self._keywords[name], int) else str
            if not isinstance(value, kind) or isinstance(value, bool):
                what = "a name" if kind is str else "an integer"
                raise InputError(f"{self.__name__}: {name} must be {what}, not {value!r}")
            options.append((name, value if kind is str else int(value)))
        return tuple(options)

    def structure(
        self,
        robot: Robot,
        arrays: int | None = None,
        *,
        free: Sequence[str] = (),
        derivatives: Sequence[tuple[str, str]] = (),
        **keywords: Any,
    ) -> Structure:
        """The structure of calls with so many arrays, groups given as {key: number of derivatives + 1}."""
        self._check_robot(robot)
        options = self._options(keywords)
        given = {group: keywords[group] for group in GROUPS if keywords.get(group)}
        least = len(self._positional)
        if arrays is None:
            arrays = self._arrays(robot, **given, **dict(options)) if self._arrays else least
        if not isinstance(arrays, Integral) or arrays < least or (arrays > least and not self._variadic):
            raise InputError(f"{self.__name__}: arrays is {arrays!r}; it takes {least}{' or more' * self._variadic}")
        for group, counts in given.items():
            if not isinstance(counts, Mapping) or not all(isinstance(x, Integral) and x > 0 for x in counts.values()):
                raise InputError(f"{self.__name__}: {group} must map names to lengths of stacks here, not {counts!r}")
        groups = tuple((g, tuple(x.items())) for g, x in given.items())
        structure = Structure(int(arrays), groups, options, self._checked_free(robot, free or ()))
        return structure._replace(derivatives=self._checked_derivatives(robot, structure, derivatives or ()))

    def _checked_free(self, robot: Robot, free: Any) -> tuple[str, ...]:
        patterns = listed(free)
        if wrong := [x for x in patterns if not isinstance(x, str)]:
            raise InputError(f"{self.__name__}: free takes paths such as 'link1.mass', not {wrong[0]!r}")
        select_all(robot, patterns)
        return patterns

    def _checked_derivatives(self, robot: Robot, structure: Structure, derivatives: Any) -> tuple[tuple[str, str], ...]:
        pairs = tuple(listed(pair) for pair in listed(derivatives))
        inputs = self._input_names(structure)
        for pair in pairs:
            if len(pair) != 2 or not all(isinstance(x, str) for x in pair):
                example = f"[({self._fields[0]!r}, {inputs[0]!r})]"
                raise InputError(f"{self.__name__}: derivatives takes pairs of names such as {example}, not {pair!r}")
            of, by = pair
            if of not in self._fields:
                raise InputError(f"{self.__name__}: it has no output '{of}'; it gives {', '.join(self._fields)}")
            if by not in inputs:
                try:
                    select(robot, by)
                except InputError as error:
                    known = ", ".join(inputs)
                    raise InputError(f"{self.__name__} has no input '{by}', it takes {known}; and {error}") from None
        return pairs

    def _returned(self, value: Any) -> Sequence[Any]:
        """What the function returned, an array for each output."""
        if isinstance(self._outputs, str):
            return [value]
        check_count(self.__name__, "its outputs", self._fields, value)
        return value

    def _output(self, array: Array, value: Any) -> Output:
        """An output, or a list of them, which is a stack of derivatives, compared with its declaration."""
        if not isinstance(value, list):
            return Output(array, [declared(self.__name__, array, value)], False)
        if not value:
            raise InputError(f"{self.__name__} returned an empty list for {array.name}; a stack has at least one array")
        owner = f"{self.__name__} (a list is a stack of derivatives)"
        layers = [array._replace(name=f"{array.name}[{k}]") for k in range(len(value))]
        return Output(array, [declared(owner, layer, x) for layer, x in zip(layers, value)], True)

    @property
    def _fields(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return (self._outputs,) if isinstance(self._outputs, str) else self._outputs._fields  # type: ignore[attr-defined]

    def _names(self, arrays: int) -> list[str]:
        given = len(self._positional)
        first = given - (self._positional.index("q") if "q" in self._positional else 0)  # after those with a name
        return [*self._positional, *(f"q{first + k}" for k in range(arrays - given))]

    def _signal(self, name: str) -> Signal:
        return self._signal_of(name if name in self._positional else "higher")

    def _signal_of(self, name: str) -> Signal:
        if name not in SIGNALS:
            raise InputError(f"{self.__name__}: there is no signal '{name}'; there are {', '.join(SIGNALS)}")
        return SIGNALS[name]

    def _described(self, robot: Robot, structure: Structure) -> list[Array]:
        """The arrays of a call, those in groups behind the positional ones."""
        named = [(name, self._signal(name)) for name in self._names(structure.arrays)]
        members = [(name, GROUPS[group]) for group, name in structure.members]
        return [describe(name, signal, robot) for name, signal in (*named, *members)]

    def _input_names(self, structure: Structure) -> list[str]:
        return [*self._names(structure.arrays), *(name for _, name in structure.members), *structure.free]

    def _result_type(self, structure: Structure) -> Any:
        """What a call returns several arrays in; None if there is but one."""
        if structure.derivatives:
            return in_a_tuple if len(structure.derivatives) > 1 else None
        return None if isinstance(self._outputs, str) else self._outputs

    def kernel(self, robot: Robot, structure: Structure) -> Kernel:
        """The compiled code, made at the first call."""
        with self._lock:
            known = (robot, structure) in self._kernels
        # Not within the lock: the thread that makes the code may be another one.
        return with_stack(0 if known else COMPILER_STACK, lambda: self._kernel(robot, structure))

    def _kernel(self, robot: Robot, structure: Structure) -> Kernel:
        key = (robot, structure)
        with self._lock:
            kernel = self._kernels.get(key)
            if kernel is None:
                kernel = cached(
                    self._key(robot, structure),
                    lambda: self.trace(robot, structure),
                    type=self._result_type(structure),
                    nominal=tuple(parameter.value for parameter in select_all(robot, structure.free)),
                    explain=self._explanation(robot, structure),
                )
                self._kernels[key] = kernel
                if len(self._kernels) > KERNELS_KEPT:
                    self._kernels.popitem(last=False)
            self._kernels.move_to_end(key)
            return kernel

    def _explanation(self, robot: Robot, structure: Structure) -> Callable[[Sequence[np.ndarray]], str | None] | None:
        """`explain` as a function of the arrays of a call, where it knows all of the robot's numbers."""
        function = self._explain
        if function is None or structure.free:
            return None

        def explain(arrays: Sequence[np.ndarray]) -> str | None:
            positional, groups = structure.arranged(arrays)
            return function(robot, *positional, **groups)

        return explain

    def _key(self, robot: Robot, structure: Structure) -> str | None:
        """What names a kernel on disk; only flexjoint's own algorithms, whose sources the cache knows, have one."""
        own = self.__module__.startswith("flexjoint.")
        return f"{self.__module__}.{self.__name__} {robot.digest} {structure}" if own else None

    def trace(self, robot: Robot, structure: Structure) -> tuple[Program, Result]:
        """Run the function on symbols and record what it does."""
        with activity(f"tracing {self.__name__} of {robot.name}"):
            return self._trace(robot, structure)

    def _trace(self, robot: Robot, structure: Structure) -> tuple[Program, Result]:
        inputs = [(array, ca.SX.sym(array.name, *array.shape)) for array in self._described(robot, structure)]
        arrays = [x for _, x in inputs]
        free = select_all(robot, structure.free)
        wanted = dict.fromkeys(by for _, by in structure.derivatives)
        held = [select(robot, by) for by in wanted if by not in self._input_names(structure)]
        leaves = {path: ca.SX.sym(path) for parameter in (*free, *held) for path in parameter.elements}
        inputs += [gathered(parameter, leaves) for parameter in free]

        packs = packing.recording() if self._packs and not structure.derivatives else nullcontext(())
        with tracing(loops=not structure.derivatives) as definitions, packs as packed:
            value = self._on_expressions(with_symbols(robot, leaves), structure, arrays)
        outputs = [
            self._output(describe(name, self._signal_of(name), robot), x)
            for name, x in zip(self._fields, self._returned(value))
        ]
        name = f"{self.__name__} of {robot.name}"
        known: list[tuple[Any, float]] = []
        if structure.derivatives:
            by = [*inputs, *(gathered(parameter, leaves) for parameter in held)]
            outputs = derivatives(outputs, by, structure.derivatives)
            given = {path for parameter in free for path in parameter.elements}
            numbers = {path: x for parameter in held for path, x in parameter.numbers.items() if path not in given}
            known = [(leaves[path], number) for path, number in numbers.items()]
            outputs = at_values(outputs, known)
            name = f"{', '.join(x.array.name for x in outputs)} of {name}"
        layers = [(output.array, layer) for output in outputs for layer in output.layers]
        result = Result([len(x.layers) if x.stacked else None for x in outputs], self._result_type(structure))
        return trace(name, inputs, layers, definitions, known, packed), result


def algorithm(
    outputs: str | type,
    arrays: Callable[..., int] | None = None,
    packs: bool = False,
    explain: Callable[..., str | None] | None = None,
) -> Callable[[Callable], Algorithm]:
    """Make a function of (robot, SX...) public.  `outputs` is a name in SIGNALS or a NamedTuple of such names;
    `arrays(robot, **keywords)` says how many arrays `compile` shall expect where the function takes `*higher`; `packs`
    allows packed values (compiler/packing.py) in the function's own kernels; `explain`, called as the function is, says
    why a result is not finite though all arguments are."""
    return lambda function: Algorithm(function, outputs, arrays, packs, explain)


def compile(
    algorithm: Algorithm,
    robot: Robot,
    arrays: int | None = None,
    *,
    free: Sequence[str] = (),
    derivatives: Sequence[tuple[str, str]] = (),
    **keywords: Any,
) -> Kernel:
    """The kernel of an algorithm for one robot, the fastest way to call it many times.

    Options are passed as to the algorithm; groups by the number of derivatives in each stack, for example
    `compile(fj.inverse_dynamics, robot, wrenches={"tool": 3})`.  The kernel takes the arrays in order, then the
    group members in the order given, then the free parameters.

    `free` names parameters of the robot that are given at each call instead of being built in, by paths or patterns
    such as `("link7.mass", "*.drive.stiffness")`; see `parameters` and docs/parameters.md.  `kernel.nominal` holds
    their values in this robot.

    With `derivatives`, pairs (output, input) such as `[("tau", "q"), ("tau", "link7.mass")]`, the kernel returns
    these derivatives instead, each (*output, *input): an array if it is one, else a tuple of arrays.  The input may be
    a path or pattern that is not free: the derivative is then taken at the robot's own value.
    """
    if not isinstance(algorithm, Algorithm):
        raise InputError(f"compile takes an algorithm such as fj.inverse_dynamics, not {algorithm!r}")
    structure = algorithm.structure(robot, arrays, free=free, derivatives=derivatives, **keywords)
    return algorithm.kernel(robot, structure)


def kernel_of(
    name: str,
    inputs: Sequence[Array],
    function: Callable[..., Sequence[tuple[Array, Any]]],
    key: str | None = None,
    type: Any = in_a_tuple,
    loops: bool = True,
) -> Kernel:
    """The kernel of a function of SX, see `program_of`; in the cache under the key, if there is one."""

    def traced() -> tuple[Program, Result]:
        program = program_of(name, inputs, function, loops)
        return program, Result([None] * len(program.outputs), type)

    return cached(key, traced, type)


def program_of(
    name: str, inputs: Sequence[Array], function: Callable[..., Sequence[tuple[Array, Any]]], loops: bool = True
) -> Program:
    """Of a function of SX that takes a matrix for each input and returns the outputs with their expressions.

    An array of more than two dimensions is the matrix of its rows; `loops` must be False where the function takes
    derivatives.
    """
    with activity(f"tracing {name}"):
        symbols = [ca.SX.sym(x.name, *flattened(x.shape)) for x in inputs]
        with tracing(loops) as definitions:
            outputs = function(*map(ca.SX, symbols))  # copies: SX can be written into
        return trace(name, list(zip(inputs, symbols)), outputs, definitions)


def flattened(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape if len(shape) <= 2 else (math.prod(shape[:-1]), shape[-1])


def export_c(
    algorithm: Algorithm,
    robot: Robot,
    folder: str | Path,
    name: str = "",
    *,
    float32: bool = False,
    freestanding: bool = False,
    arrays: int | None = None,
    **keywords: Any,
) -> list[Path]:
    """Write an algorithm for one robot as a C99 function, with a header, an example that checks it and a Makefile.

    `make check` in the folder compiles and runs the example.  `float32` computes in single precision; `freestanding`
    uses no C library.  The function is called after algorithm and robot unless it is given a name; the other keywords
    are those of `compile`.  Returns the paths written.
    """
    from importlib.metadata import version

    from ..compiler.c.export import export

    kernel = compile(algorithm, robot, arrays, **keywords)
    chosen = name or re.sub(r"[^A-Za-z0-9_]+", "_", f"{algorithm.__name__}_{robot.name}")
    about = (
        f"{algorithm.__name__} of the robot {robot.name}\nrobot digest {robot.digest}\n{kernel.operations} operations\n"
        f"written by flexjoint {version('flexjoint')}; all quantities on the link side, in SI units\n"
    )
    return export(kernel, chosen, Path(folder), about, float32=float32, freestanding=freestanding)


def show_config() -> str:
    """Which parts are in use on this computer: call path, versions, processor."""
    text = configuration_text(configuration())
    print(text)
    return text


def configuration() -> dict[str, str]:
    """Versions by package, the call path, LLVM and the processor it compiles for."""
    import importlib.metadata as metadata
    import platform

    import llvmlite.binding as llvm

    from ..compiler.llvm.jit import target

    path = "C extension" if EXTENSION else "ctypes (the C extension was not built: install a C compiler and reinstall)"
    return {
        "flexjoint": metadata.version("flexjoint"),
        "python": platform.python_version(),
        "calls": path,
        **{name: metadata.version(name) for name in ("numpy", "casadi", "llvmlite", "scipy")},
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "processor": target().cpu,
    }


def configuration_text(found: Mapping[str, str]) -> str:
    packages = [f"{name} {found[name]}" for name in ("numpy", "casadi", "llvmlite", "scipy")]
    first = f"flexjoint {found['flexjoint']}, Python {found['python']}"
    return "\n".join([first, f"calls: {found['calls']}", *packages, f"LLVM {found['llvm']} for {found['processor']}"])


def listed(x: Any) -> tuple:
    """Several as a tuple; a string, or what is no collection, is one."""
    return tuple(x) if isinstance(x, Iterable) and not isinstance(x, str) else (x,)


def gathered(parameter: Parameter, leaves: Mapping[str, Any]) -> tuple[Array, Any]:
    """A parameter as an input, its symbol put together from those of its elements."""
    return parameter_array(parameter), ca.vertcat(*(leaves[path] for path in parameter.elements))


def parameter_array(parameter: Parameter) -> Array:
    labels = parameter.elements if parameter.value.shape else ()
    return Array(parameter.path, parameter.value.shape, parameter.unit, labels)
