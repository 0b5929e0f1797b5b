"""Motions of the joints: a trajectory maps time to q and its derivatives, stacked (order + 1, ..., n)."""

from .polynomial import RestToRest

__all__ = ["RestToRest"]
