"""Rewrites of a Program: each takes one and returns one that computes the same bits."""
