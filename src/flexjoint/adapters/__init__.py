"""Kernels as functions of other array libraries, with their derivatives: JAX and PyTorch."""

from ..boundary import public
from .jax_function import jax_function as jax_function
from .torch_function import torch_function as torch_function

public(__name__)
