"""Torques of control laws as algorithms, one kernel each."""
