"""Simulation of robots under control."""
