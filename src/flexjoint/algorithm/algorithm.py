"""`@algorithm`: one object per public function.

An algorithm is written once, as a pure function of a Robot and CasADi SX expressions.  The decorated object

- called with SX returns SX, so algorithms compose and differentiate;
- called with arrays compiles a kernel for that robot, keeps it, and calls it.

Its positional parameters are arrays, `*higher` further derivatives of the last of them.  Keyword-only parameters are
arrays that may be left out (`KEYWORD_ARRAYS`) or options that select the code (`order`, `link`, `motors`).  Shapes and
units come from `signals.py`, by name; which of the arrays a robot needs, from the form (`form.py`).
"""

from __future__ import annotations

import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from numbers import Integral
from typing import Any

from ..compiler.ir import packing
from ..compiler.ir.program import Array, Program
from ..compiler.ir.scan import tracing
from ..compiler.ir.trace import check_count, declared
from ..compiler.pipeline import cached, trace
from ..compiler.runtime.calling import COMPILER_STACK, AlgorithmBase, inherit_vectorcall, with_stack
from ..compiler.runtime.kernel import Kernel, Result
from ..errors import InputError, listed as listed_names, shown
from ..progress import activity
from ..robot import Robot
from ..robot.parameters import Parameter, select, select_all, with_symbols
from ..spatial import ca, is_symbolic
from ..types import Expression, FloatArray
from .derivatives import Output, at_values, derivatives, in_a_tuple
from .form import Call, Form, FormOf, Requirement, require
from .signals import Signal, describe, expression
from .structure import KEYWORD_ARRAYS, Counts, Structure, counted, flatten

ALGORITHMS: dict[str, Algorithm] = {}  # those of flexjoint, by name
KERNELS_KEPT = 256  # per algorithm; the least recently used is dropped
MOST_ARRAYS = 100  # q and its derivatives
CALL_OPTIONS = {"out": None, "finite": None, "threads": 1}  # keywords of every algorithm


@inherit_vectorcall
class Algorithm(AlgorithmBase):
    """A public function of flexjoint; see the docstring of the module."""

    def __init__(
        self,
        function: Callable[..., Any],
        outputs: str | type | FormOf,
        arrays: Callable[..., int] | None = None,
        packs: bool = False,
        explain: Callable[..., str | None] | None = None,
        requires: Sequence[Requirement] = (),
        signals: Mapping[str, Signal] | None = None,
    ):
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.__signature__ = with_call_options(inspect.signature(function))
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self._positional = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
        self._variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        self._keywords = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        one_form = isinstance(outputs, str | type)
        self._only_form = Form(self._positional, outputs, signals or {}) if one_form else None  # type: ignore[arg-type]
        self._form_of = None if one_form else outputs
        self._arrays = arrays
        self._packs = packs
        self._explain = explain
        self._requires = tuple(requires)
        self._kernels: OrderedDict[tuple[Robot, Structure], Kernel] = OrderedDict()
        self._lock = threading.RLock()

    def __reduce__(self) -> str:
        return self.__name__  # pickled by name, like a function

    def __repr__(self) -> str:
        return f"<algorithm {self.__name__}{inspect.signature(self.__wrapped__)}>"

    # Calls ----------------------------------------------------------------------------------------------

    def _call(
        self, robot: Any = None, *args: Any, out: Any = None, finite: Any = None, threads: int = 1, **keywords: Any
    ) -> Any:
        self._check_robot(robot)
        asked = {name: x for name, x in (("out", out), ("finite", finite)) if x is not None}
        if not (isinstance(threads, int) and threads == 1):
            asked["threads"] = threads
        keyword_arrays, leaves = flatten(self.__name__, keywords)
        options = self._options(keywords)
        form = self.form(robot, options)
        given = len(args)
        args, keywords = self._in_order(robot, form, args, keywords)
        structure = Structure(len(args), keyword_arrays, options)
        if any(is_symbolic(x) for x in (*args, *leaves)):
            if out is not None:
                raise InputError(f"{self.__name__}: out= is for arrays, not for symbolic expressions")
            pairs = zip(self._described(robot, structure), (*args, *leaves))
            return self._on_expressions(robot, structure, [expression(self.__name__, *pair) for pair in pairs])
        self._check_numbers(robot)
        kernel = self.kernel(robot, structure)
        if not keywords:
            self._remember(robot, kernel)
        elif given == len(args):  # none of them by keyword: the next call may be like this one
            self._remember_call(robot, kernel, keyword_arrays, keywords)
        return kernel(*args, *leaves, **asked)

    def _remember_call(
        self, robot: Robot, kernel: Kernel, keyword_arrays: tuple[tuple[str, Counts], ...], keywords: Mapping[str, Any]
    ) -> None:
        """Have calls with the same keywords done without Python, if options are plain numbers and texts."""
        arrays = {name for name, _ in keyword_arrays}
        constants = tuple((name, x) for name, x in keywords.items() if name not in arrays)
        if all(x is None or type(x) in (bool, int, str) for _, x in constants):
            self._remember_keywords(robot, kernel, keyword_arrays, constants)

    def function(self, robot: Robot, *arrays: Expression, **keywords: Any) -> Any:
        """The algorithm on SX expressions taken as they are: what other algorithms and control laws build on."""
        given = {name: x for name, x in keywords.items() if x is not None}
        options = {name: x for name, x in given.items() if name not in KEYWORD_ARRAYS}
        keyword_arrays = {name: x for name, x in given.items() if name in KEYWORD_ARRAYS}
        require(self.__name__, Call(robot, len(arrays), keyword_arrays, options), *self._requires)
        form = self.form(robot, tuple(options.items()))
        if self._variadic or not set(form.inputs) <= set(self._positional):
            return self.__wrapped__(robot, *arrays, **given)
        named = dict.fromkeys(self._positional) | dict(zip(form.inputs, arrays, strict=True))
        return self.__wrapped__(robot, **named, **given)

    def form(self, robot: Robot, options: Iterable[tuple[str, Any]] = ()) -> Form:
        """Which arrays the algorithm takes and returns for this robot."""
        return self._only_form or self._form_of(robot, {**self._keywords, **dict(options)})  # type: ignore[misc, operator]

    @property
    def keywords(self) -> tuple[str, ...]:
        """Names of the keyword-only parameters: options and keyword arrays."""
        return tuple(self._keywords)

    def inputs(self, robot: Robot, structure: Structure) -> list[Array]:
        """The arrays of a call, keyword arrays behind the positional ones."""
        return self._described(robot, structure)

    def _on_expressions(self, robot: Robot, structure: Structure, arrays: Iterable[Expression]) -> Any:
        """The function of copies, since SX can be written into."""
        positional, keyword_arrays = structure.arranged(map(ca.SX, arrays))
        return self.function(robot, *positional, **keyword_arrays, **dict(structure.options))

    def _check_robot(self, robot: Any) -> None:
        if not isinstance(robot, Robot):
            raise InputError(f"{self.__name__}: the first argument is the robot, not {type(robot).__name__}")

    def _check_numbers(self, robot: Robot) -> None:
        """Refuse arrays beside a robot with symbols."""
        if robot.symbols:
            paths = listed_names(robot.symbols, most=4)
            raise InputError(
                f"{self.__name__}: '{robot.name}' has symbols at {paths}: give SX, numbers as casadi.SX(x); for arrays "
                f"compile the robot with its numbers, fj.compile({self.__name__}, robot, free=[paths])"
            )

    def _in_order(
        self, robot: Robot, form: Form, args: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arrays given by keyword moved to their place."""
        rest = dict(keywords)
        named = form.inputs[len(args) :]
        if missing := [name for name in named if name not in rest]:
            raise InputError(f"{form.needed(self.__name__, robot, 'needs')}; missing: {', '.join(missing)}")
        given = (*args, *(rest.pop(name) for name in named))
        if len(given) > len(form.inputs) and not self._variadic:
            raise InputError(form.surplus(self.__name__, robot, len(given)))
        if twice := [name for name in rest if name in form.inputs]:
            raise InputError(f"{self.__name__}: {', '.join(twice)} given twice, by position and by keyword")
        if surplus := [name for name in rest if name in self._positional]:
            raise InputError(f"{form.needed(self.__name__, robot, 'takes')}; surplus: {', '.join(surplus)}")
        self._check_known(rest)
        return given, rest

    def _check_known(self, keywords: Mapping[str, Any]) -> None:
        if unknown := sorted(set(keywords) - set(self._keywords)):
            known = ", ".join([*self._keywords, *CALL_OPTIONS])
            raise InputError(f"{self.__name__} has no keyword {', '.join(unknown)}; it knows {known}")

    def _options(self, keywords: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        """The keywords that select code, checked against the type of their default (None: a name)."""
        options = []
        for name, value in sorted(keywords.items()):
            if name not in self._keywords or name in KEYWORD_ARRAYS or value is None:
                continue
            default = self._keywords[name]
            kind, what = kind_of_option(default)
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                raise InputError(f"{self.__name__}: {name} must be {what}, not {value!r}")
            if value != default:
                options.append((name, int(value) if kind is Integral else value))
        return tuple(options)

    # Kernels --------------------------------------------------------------------------------------------

    def structure(
        self,
        robot: Robot,
        arrays: int | None = None,
        *,
        free: Sequence[str] = (),
        derivatives: Sequence[tuple[str, str]] = (),
        **keywords: Any,
    ) -> Structure:
        """The structure of calls with so many arrays; keyword arrays are given by the lengths of their stacks."""
        self._check_robot(robot)
        self._check_numbers(robot)
        self._check_known(keywords)
        options = self._options(keywords)
        keyword_arrays = counted(self.__name__, keywords)
        least = len(self.form(robot, options).inputs)
        if arrays is None:
            given = {name: keywords[name] for name, _ in keyword_arrays}
            arrays = self._arrays(robot, **given, **dict(options)) if self._arrays else least
        most = MOST_ARRAYS if self._variadic else least
        if not isinstance(arrays, Integral) or not least <= arrays <= most:
            takes = f"{least} to {most}" if self._variadic else str(least)
            raise InputError(f"{self.__name__}: arrays is {shown(arrays)}; it takes {takes}")
        structure = Structure(int(arrays), keyword_arrays, options, self._checked_free(robot, free or ()))
        return structure._replace(derivatives=self._checked_derivatives(robot, structure, derivatives or ()))

    def _checked_free(self, robot: Robot, free: Any) -> tuple[str, ...]:
        patterns = listed(free)
        if wrong := [x for x in patterns if not isinstance(x, str)]:
            raise InputError(f"{self.__name__}: free takes paths such as 'link1.mass', not {wrong[0]!r}")
        select_all(robot, patterns)
        return patterns

    def _checked_derivatives(self, robot: Robot, structure: Structure, derivatives: Any) -> tuple[tuple[str, str], ...]:
        pairs = tuple(listed(pair) for pair in listed(derivatives))
        inputs, fields = self._input_names(robot, structure), self.form(robot, structure.options).fields
        for pair in pairs:
            if len(pair) != 2 or not all(isinstance(x, str) for x in pair):
                example = f"[({fields[0]!r}, {inputs[0]!r})]"
                raise InputError(f"{self.__name__}: derivatives takes pairs of names such as {example}, not {pair!r}")
            of, by = pair
            if of not in fields:
                raise InputError(f"{self.__name__}: it has no output '{of}'; it gives {', '.join(fields)}")
            if by not in inputs:
                try:
                    select(robot, by)
                except InputError as error:
                    known = ", ".join(inputs)
                    raise InputError(f"{self.__name__} has no input '{by}', it takes {known}; and {error}") from None
        return pairs

    def _names(self, robot: Robot, structure: Structure) -> list[str]:
        """Names of the positional arrays."""
        names = self.form(robot, structure.options).inputs
        first = len(names) - (names.index("q") if "q" in names else 0)  # after those with a name
        return [*names, *(f"q{first + k}" for k in range(structure.arrays - len(names)))]

    def _described(self, robot: Robot, structure: Structure) -> list[Array]:
        """The arrays of a call, keyword arrays behind the positional ones."""
        form = self.form(robot, structure.options)
        names = self._names(robot, structure)
        named = [(x, form.signal(self.__name__, x if x in form.inputs else "higher")) for x in names]
        return [describe(name, signal, robot) for name, signal in (*named, *structure.members)]

    def _input_names(self, robot: Robot, structure: Structure) -> list[str]:
        return [*self._names(robot, structure), *(name for name, _ in structure.members), *structure.free]

    def _result_type(self, robot: Robot, structure: Structure) -> Any:
        """The type that a call returns several arrays in; None if there is only one."""
        if structure.derivatives:
            return in_a_tuple if len(structure.derivatives) > 1 else None
        outputs = self.form(robot, structure.options).outputs
        return None if isinstance(outputs, str) else outputs

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
                    type=self._result_type(robot, structure),
                    nominal=tuple(parameter.value for parameter in select_all(robot, structure.free)),
                    explain=self._explanation(robot, structure),
                )
                self._kernels[key] = kernel
                if len(self._kernels) > KERNELS_KEPT:
                    self._kernels.popitem(last=False)
            self._kernels.move_to_end(key)
            return kernel

    def _explanation(self, robot: Robot, structure: Structure) -> Callable[[Sequence[FloatArray]], str | None] | None:
        """`explain` as a function of the arrays of a call, where all numbers of the robot are known."""
        function = self._explain
        if function is None or structure.free:
            return None

        def explain(arrays: Sequence[FloatArray]) -> str | None:
            positional, keyword_arrays = structure.arranged(arrays)
            return function(robot, *positional, **keyword_arrays, **dict(structure.options))

        return explain

    def _key(self, robot: Robot, structure: Structure) -> str | None:
        """Name of a kernel on disk; only the algorithms of flexjoint have one, whose sources the cache knows."""
        own = self.__module__.startswith("flexjoint.")
        return f"{self.__module__}.{self.__name__} {robot.digest} {structure}" if own else None

    def trace(self, robot: Robot, structure: Structure) -> tuple[Program, Result]:
        """Run the function on symbols and record what it does."""
        with activity(f"tracing {self.__name__} of {robot.name}"):
            return self._trace(robot, structure)

    def _trace(self, robot: Robot, structure: Structure) -> tuple[Program, Result]:
        free = select_all(robot, structure.free)
        wanted = dict.fromkeys(by for _, by in structure.derivatives)
        held = [select(robot, by) for by in wanted if by not in self._input_names(robot, structure)]
        leaves = {path: ca.SX.sym(path) for parameter in (*free, *held) for path in parameter.elements}
        packs = packing.recording() if self._packs and not structure.derivatives else nullcontext(())
        with tracing(loops=not structure.derivatives) as definitions, packs as packed:
            inputs, outputs = self.expressions(robot, structure, leaves)
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
        stacks = [len(x.layers) if x.stacked else None for x in outputs]
        result = Result(stacks, self._result_type(robot, structure))
        return trace(name, inputs, layers, definitions, known, packed), result

    def expressions(
        self, robot: Robot, structure: Structure, leaves: Mapping[str, Expression] | None = None
    ) -> tuple[list[tuple[Array, Expression]], list[Output]]:
        """Symbols of the inputs, free parameters last, and what the function makes of them.

        - `leaves`: symbols of parameters by path, the free ones among them; by default those of the free ones
        """
        free = select_all(robot, structure.free)
        if leaves is None:
            leaves = {path: ca.SX.sym(path) for parameter in free for path in parameter.elements}
        inputs = [(array, ca.SX.sym(array.name, *array.shape)) for array in self._described(robot, structure)]
        value = self._on_expressions(with_symbols(robot, leaves), structure, [x for _, x in inputs])
        inputs += [gathered(parameter, leaves) for parameter in free]
        return inputs, self.outputs(robot, structure, value)

    def outputs(self, robot: Robot, structure: Structure, value: Any) -> list[Output]:
        """What the function returned for SX, compared with its declaration."""
        form = self.form(robot, structure.options)
        if isinstance(form.outputs, str):
            value = [value]
        else:
            check_count(self.__name__, "its outputs", form.fields, value)
        arrays = [describe(name, form.signal(self.__name__, name), robot) for name in form.fields]
        return [self._output(array, x) for array, x in zip(arrays, value)]

    def _output(self, array: Array, value: Any) -> Output:
        """An output, or a list of them, which is a stack of derivatives."""
        if not isinstance(value, list):
            return Output(array, [declared(self.__name__, array, value)], False)
        if not value:
            raise InputError(f"{self.__name__} returned an empty list for {array.name}; a stack has at least one array")
        owner = f"{self.__name__} (a list is a stack of derivatives)"
        layers = [array._replace(name=f"{array.name}[{k}]") for k in range(len(value))]
        return Output(array, [declared(owner, layer, x) for layer, x in zip(layers, value)], True)


def algorithm(
    outputs: str | type | FormOf,
    arrays: Callable[..., int] | None = None,
    packs: bool = False,
    explain: Callable[..., str | None] | None = None,
    requires: Sequence[Requirement] = (),
    signals: Mapping[str, Signal] | None = None,
) -> Callable[[Callable[..., Any]], Algorithm]:
    """Make a function of (robot, SX...) public.

    Args:
        outputs: A name in SIGNALS, a NamedTuple of such names, or a function (robot, options) -> Form.
        arrays: `arrays(robot, **keywords)`, how many arrays `compile` expects where the function takes `*higher`.
        packs: Whether packed values (compiler/ir/packing.py) are allowed in the kernels of the function.
        explain: Called as the function is, says why a result is not finite though all arguments are.
        requires: Preconditions, checked in this order before the function runs (`dynamics/requirements.py`).
        signals: Shapes and units that differ from SIGNALS, by name.
    """

    def made(function: Callable[..., Any]) -> Algorithm:
        found = Algorithm(function, outputs, arrays, packs, explain, requires, signals)
        if function.__module__.startswith("flexjoint.") and not found.__name__.startswith("_"):
            ALGORITHMS[found.__name__] = found
        return found

    return made


def with_call_options(signature: inspect.Signature) -> inspect.Signature:
    """The signature that `help` shows: also `out`, `finite` and `threads`, which every call takes."""
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in CALL_OPTIONS.items()
    ]
    own = sorted([*signature.parameters.values(), *extra], key=lambda x: x.kind)  # stable: **keywords stay last
    return signature.replace(parameters=own)


def kind_of_option(default: Any) -> tuple[Any, str]:
    """The type of an option by its default, and what it is called."""
    if isinstance(default, bool):
        return bool, "True or False"
    return (Integral, "an integer") if isinstance(default, int) else (str, "a name")


def listed(x: Any) -> tuple[Any, ...]:
    """A collection as a tuple; a string or a single thing as a tuple of one."""
    return tuple(x) if isinstance(x, Iterable) and not isinstance(x, str) else (x,)


def gathered(parameter: Parameter, leaves: Mapping[str, Any]) -> tuple[Array, Any]:
    """A parameter as an input, its symbol put together from those of its elements."""
    return parameter_array(parameter), ca.vertcat(*(leaves[path] for path in parameter.elements))


def parameter_array(parameter: Parameter) -> Array:
    labels = parameter.elements if parameter.value.shape else ()
    return Array(parameter.path, parameter.value.shape, parameter.unit, labels)
