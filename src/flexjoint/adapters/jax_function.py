"""Algorithms as functions of JAX arrays: `jax_function`.

The kernel is a callback on the host.  Its JVP is a product with the Jacobians of derivative kernels, written in JAX, so
JAX transposes it: forward and reverse mode, jit and vmap need nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..algorithm.algorithm import Algorithm
from ..errors import InputError
from ..robot import Robot
from .differentiable import NO_SECOND, Differentiable, needed


def jax_function(
    algorithm: Algorithm, robot: Robot, arrays: int | None = None, *, free: Sequence[str] = (), **keywords: Any
) -> Callable[..., Any]:
    """An algorithm for one robot as a function of JAX arrays, with first derivatives by `grad`, `jvp`, `jacfwd`, ...

    It runs the kernel on the processor, in double precision, with the kernel's bits; `jit` and `vmap` take it.  A row
    whose result is not finite is NaN.

    Args:
        algorithm: Such as `fj.inverse_dynamics`.
        robot: Its numbers are built in.
        arrays, free, keywords: As in `compile`.

    Returns:
        A function of the arrays of the kernel, each (..., *shape), in the kernel's order; leading dimensions broadcast.

    Raises:
        InputError: JAX is not installed or computes in single precision, or the algorithm does not take this robot;
            when the function is called: a wrong number of arrays, shape or kind, or a second derivative.
    """
    jax = needed("jax_function", "jax")
    jnp, double, zero = jax.numpy, np.float64, jax.custom_derivatives.SymbolicZero
    pair = Differentiable("jax_function", algorithm, robot, arrays, free, keywords)

    def callback(compute: Callable[..., Any], shapes: Sequence[tuple[int, ...]], args: Sequence[Any]) -> Any:
        batch = np.broadcast_shapes(*pair.batch([x.shape for x in args]))
        results = [jax.ShapeDtypeStruct((*batch, *shape), double) for shape in shapes]

        def on_host(*rows: Any) -> list[Any]:
            return [x[0] for x in compute([np.asarray(x)[None] for x in rows])]  # a batch: NaN in place of an error

        return jax.pure_callback(on_host, results, *args, vmap_method="expand_dims")

    @jax.custom_jvp
    def values(*args: Any) -> Any:
        return callback(pair.values, pair.shapes, args)

    @cache
    def jacobians(wanted: tuple[int, ...]) -> Callable[..., Any]:
        sizes = [(rows, pair.columns[k]) for rows in pair.rows for k in wanted]

        @jax.custom_jvp
        def found(*args: Any) -> Any:
            return callback(lambda rows: [J for row in pair.jacobians(rows, wanted) for J in row], sizes, args)

        @found.defjvp
        def refused(primals: Any, tangents: Any) -> Any:
            raise InputError(f"{pair.name}: {NO_SECOND}")

        return found

    def rule(primals: Any, tangents: Any) -> Any:
        wanted = tuple(k for k, x in enumerate(tangents) if type(x) is not zero)
        results, rates = values(*primals), []
        slopes = iter(jacobians(wanted)(*primals))
        leading = pair.batch([x.shape for x in primals])
        for result, shape, rows in zip(results, pair.shapes, pair.rows):
            rate = jnp.zeros((*result.shape[: result.ndim - len(shape)], rows), double)
            for k in wanted:
                x = tangents[k].reshape(*leading[k], pair.columns[k])
                rate += jnp.einsum("...yx,...x->...y", next(slopes), x)
            rates.append(rate.reshape(result.shape))
        return results, rates

    values.defjvp(rule, symbolic_zeros=True)

    def called(*args: Any) -> Any:
        if not jax.config.jax_enable_x64:
            remedy = 'begin with jax.config.update("jax_enable_x64", True)'
            raise InputError(f"{pair.name}: JAX computes in single precision; {remedy}")
        given = [jnp.asarray(x) for x in args]
        if any(jnp.issubdtype(x.dtype, jnp.complexfloating) for x in given):
            raise InputError(f"{pair.name}: an array is complex; give real numbers, x.real")
        leading = pair.batch([x.shape for x in given])
        rank = max(map(len, leading))
        alike = [x.astype(double).reshape((1,) * (rank - len(b)) + x.shape) for x, b in zip(given, leading)]
        results = values(*alike)
        return pair.returned([jnp.moveaxis(x, rank, 0) if y else x for x, y in zip(results, pair.stacked)])

    return called
