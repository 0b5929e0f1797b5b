"""Recursions over the links of a tree: Newton-Euler, kinematics, bodies, Coriolis, energy, regressor."""
