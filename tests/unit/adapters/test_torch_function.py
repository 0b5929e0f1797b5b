"""Kernels in PyTorch: the kernel's bits, CasADi's gradients, batches, and what is refused."""

import numpy as np
import pytest

import flexjoint as fj
from support.adapters import CASES, ELASTIC, agree, gradients, leaves, weighted

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'flexjoint[torch]'")
ARRAYS = CASES["forward dynamics"][2]


def tensors(arrays, grad=True):
    return [torch.tensor(x, dtype=torch.float64, requires_grad=grad) for x in arrays]


@pytest.fixture(scope="module")
def forward():
    return fj.adapters.torch_function(fj.forward_dynamics, ELASTIC)


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case):
    algorithm, keywords, arrays = CASES[case]
    function = fj.adapters.torch_function(algorithm, ELASTIC, **keywords)
    kernel = fj.compile(algorithm, ELASTIC, **keywords)
    given = tensors(arrays)
    found = function(*given)
    for x, expected in zip(leaves(found), leaves(kernel(*arrays)), strict=True):
        assert np.array_equal(x.detach().numpy(), expected)
    weighted(found).backward()
    for x, expected in zip(given, gradients(algorithm, keywords, arrays), strict=True):
        assert agree(x.grad, expected)


def test_batches_broadcast_and_gradients_sum_over_them(forward):
    q = np.random.default_rng(1).normal(size=(2, 4, 3))
    tau = np.random.default_rng(2).normal(size=(4, 3))
    v = tensors([ARRAYS[1]])[0]
    found = forward(q, v, *ARRAYS[2:4], torch.tensor(tau))
    kernel = fj.compile(fj.forward_dynamics, ELASTIC)
    assert np.array_equal(found.a.detach().numpy(), kernel(q, *ARRAYS[1:4], tau).a)
    (by_v,) = torch.autograd.grad(weighted(found), [v])  # only this derivative is computed
    rows = [gradients(fj.forward_dynamics, {}, [q[i, j], *ARRAYS[1:4], tau[j]])[1] for i in (0, 1) for j in range(4)]
    assert agree(by_v, np.sum(rows, axis=0))


def test_an_empty_batch(forward):
    q = torch.zeros((0, 3), dtype=torch.float64, requires_grad=True)
    weighted(forward(q, *ARRAYS[1:])).backward()
    assert q.grad.shape == (0, 3)


def test_without_gradients_nothing_is_recorded(forward):
    assert not forward(*tensors(ARRAYS, grad=False)).a.requires_grad


def test_refused(forward):
    with pytest.raises(fj.InputError, match=r"kernels take float64, q.double\(\)"):
        forward(torch.zeros(3), *ARRAYS[1:])
    with pytest.raises(fj.InputError, match=r"q is on meta; kernels run on the processor, q.cpu\(\)"):
        forward(torch.zeros(3, dtype=torch.float64, device="meta"), *ARRAYS[1:])
    with pytest.raises(fj.InputError, match="takes 5 arrays: q, v, theta, theta_v, tau; 2 were given"):
        forward(*ARRAYS[:2])
    with pytest.raises(fj.NonFiniteError, match="q"):
        forward(np.array([np.nan, 0.0, 0.0]), *ARRAYS[1:])
    given = tensors(ARRAYS)
    with pytest.raises(fj.InputError, match="casadi_function"):
        torch.autograd.grad(forward(*given).a.sum(), given, create_graph=True)
