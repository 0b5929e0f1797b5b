"""Oracles and data shared by the tests."""
