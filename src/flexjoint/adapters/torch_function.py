"""Algorithms as functions of PyTorch tensors: `torch_function`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..algorithm.algorithm import Algorithm
from ..errors import InputError
from ..robot import Robot
from .differentiable import NO_SECOND, Differentiable, needed


def torch_function(
    algorithm: Algorithm, robot: Robot, arrays: int | None = None, *, free: Sequence[str] = (), **keywords: Any
) -> Callable[..., Any]:
    """An algorithm for one robot as a function of PyTorch tensors, with first derivatives by `backward` and `grad`.

    It runs the kernel on the processor, in double precision, with the kernel's bits.  The gradient is a product with
    the Jacobians of derivative kernels.

    Args:
        algorithm: Such as `fj.inverse_dynamics`.
        robot: Its numbers are built in.
        arrays, free, keywords: As in `compile`.

    Returns:
        A function of the arrays of the kernel, float64 tensors on the processor or numbers, each (..., *shape), in the
        kernel's order; leading dimensions broadcast.

    Raises:
        InputError: PyTorch is not installed, or the algorithm does not take this robot; when the function is called: a
            wrong number of arrays, shape, dtype or device, or a second derivative.
        NonFiniteError: A single evaluation is not finite; in a batch such rows are NaN.
    """
    torch = needed("torch_function", "torch")
    pair = Differentiable("torch_function", algorithm, robot, arrays, free, keywords)

    class Call(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.save_for_backward(*args)
            return tuple(map(tensor, pair.values([x.detach().numpy() for x in args])))

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            if torch.is_grad_enabled():
                raise InputError(f"{pair.name}: create_graph=True asks for {NO_SECOND}")
            wanted = tuple(k for k, needs in enumerate(ctx.needs_input_grad) if needs)
            jacobians = pair.jacobians([x.detach().numpy() for x in ctx.saved_tensors], wanted)
            shapes = zip(grads, pair.shapes, pair.rows)
            flat = [y.reshape((*y.shape[: y.ndim - len(shape)], rows)) for y, shape, rows in shapes]
            found: list[Any] = [None] * len(ctx.saved_tensors)
            for column, k in enumerate(wanted):
                parts = [torch.einsum("...yx,...y->...x", tensor(J[column]), y) for J, y in zip(jacobians, flat)]
                total, shape = torch.stack(parts).sum(0), ctx.saved_tensors[k].shape
                found[k] = total.reshape((*total.shape[:-1], *pair.inputs[k].shape)).sum_to_size(shape)
            return tuple(found)

    def tensor(x: Any) -> Any:
        return torch.from_numpy(np.ascontiguousarray(x))

    def checked(x: Any, name: str) -> Any:
        if not isinstance(x, torch.Tensor):
            return torch.as_tensor(x, dtype=torch.float64)
        if x.dtype != torch.float64:
            raise InputError(f"{pair.name}: {name} has dtype {x.dtype}; kernels take float64, {name}.double()")
        if x.device.type != "cpu":
            raise InputError(f"{pair.name}: {name} is on {x.device}; kernels run on the processor, {name}.cpu()")
        return x

    def called(*args: Any) -> Any:
        rank = max(map(len, pair.batch([tuple(np.shape(x)) for x in args])))
        results = Call.apply(*(checked(x, array.name) for x, array in zip(args, pair.inputs)))
        return pair.returned([x.movedim(rank, 0) if y else x for x, y in zip(results, pair.stacked)])

    return called
