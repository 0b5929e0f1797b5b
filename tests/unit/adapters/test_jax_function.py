"""Kernels in JAX: the kernel's bits, CasADi's gradients, jit, vmap, and what is refused."""

import numpy as np
import pytest

import flexjoint as fj
from support.adapters import CASES, ELASTIC, agree, gradients, leaves, weighted

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'flexjoint[jax]'")
jnp = jax.numpy
ARRAYS = CASES["forward dynamics"][2]


@pytest.fixture(autouse=True, scope="module")
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def forward():
    return fj.adapters.jax_function(fj.forward_dynamics, ELASTIC)


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case):
    algorithm, keywords, arrays = CASES[case]
    function = fj.adapters.jax_function(algorithm, ELASTIC, **keywords)
    kernel = fj.compile(algorithm, ELASTIC, **keywords)
    for call in (function, jax.jit(function)):
        for x, expected in zip(leaves(call(*arrays)), leaves(kernel(*arrays)), strict=True):
            assert np.array_equal(x, expected)
    every = tuple(range(len(arrays)))
    found = jax.jit(jax.grad(lambda *x: weighted(function(*x)), argnums=every))(*arrays)
    for x, expected in zip(found, gradients(algorithm, keywords, arrays), strict=True):
        assert agree(x, expected)


def test_the_result_has_the_type_of_the_algorithm(forward):
    assert forward(*ARRAYS)._fields == ("a", "theta_a")


def test_batches_broadcast_and_gradients_sum_over_them(forward):
    q = np.random.default_rng(1).normal(size=(2, 4, 3))
    tau = np.random.default_rng(2).normal(size=(4, 3))
    kernel = fj.compile(fj.forward_dynamics, ELASTIC)
    assert np.array_equal(forward(q, *ARRAYS[1:4], tau).a, kernel(q, *ARRAYS[1:4], tau).a)
    by_v = jax.grad(lambda v: weighted(forward(q, v, *ARRAYS[2:4], tau)))(ARRAYS[1])
    rows = [gradients(fj.forward_dynamics, {}, [q[i, j], *ARRAYS[1:4], tau[j]])[1] for i in (0, 1) for j in range(4)]
    assert agree(by_v, np.sum(rows, axis=0))


def test_an_empty_batch(forward):
    assert jax.grad(lambda q: weighted(forward(q, *ARRAYS[1:])))(np.zeros((0, 3))).shape == (0, 3)


def test_vmap_along_different_axes(forward):
    q, v = np.random.default_rng(3).normal(size=(5, 3)), np.random.default_rng(4).normal(size=(3, 5))
    batch = np.random.default_rng(5).normal(size=(2, 3))  # of its own, besides that of vmap
    kernel = fj.compile(fj.forward_dynamics, ELASTIC)
    call = jax.vmap(lambda q, v: forward(q, v, *ARRAYS[2:4], batch).a, in_axes=(0, 1))
    assert np.array_equal(call(q, v), kernel(q[:, None], v.T[:, None], *ARRAYS[2:4], batch).a)


def test_forward_and_reverse_mode_agree(forward):
    by_forward, by_reverse = (mode(lambda q: forward(q, *ARRAYS[1:]).a)(ARRAYS[0]) for mode in (jax.jacfwd, jax.jacrev))
    expected = fj.compile(fj.forward_dynamics, ELASTIC, derivatives=[("a", "q")])(*ARRAYS)
    assert agree(by_forward, expected) and agree(by_reverse, expected)


def test_a_result_that_is_not_finite_is_nan(forward):
    q = np.array([np.nan, 0.0, 0.0])
    assert np.all(np.isnan(forward(q, *ARRAYS[1:]).a))


def test_refused(forward):
    with pytest.raises(fj.InputError, match=r"q has shape \(2,\), it must be \(\.\.\., 3\)"):
        forward(np.zeros(2), *ARRAYS[1:])
    with pytest.raises(fj.InputError, match="takes 5 arrays: q, v, theta, theta_v, tau; 2 were given"):
        forward(*ARRAYS[:2])
    with pytest.raises(fj.InputError, match="complex"):
        forward(1j * ARRAYS[0], *ARRAYS[1:])
    with pytest.raises(fj.InputError, match="casadi_function"):
        jax.hessian(lambda q: forward(q, *ARRAYS[1:]).a.sum())(ARRAYS[0])
    with pytest.raises(fj.InputError, match="the library differentiates"):
        fj.adapters.jax_function(fj.gravity_torque, ELASTIC, derivatives=[("tau", "q")])
    with pytest.raises(fj.InputError, match="takes an algorithm"):
        fj.adapters.jax_function(np.sin, ELASTIC)
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(fj.InputError, match=r'jax.config.update\("jax_enable_x64", True\)'):
            forward(*ARRAYS)
    finally:
        jax.config.update("jax_enable_x64", True)
