"""How well collisions and faults are detected, in seeded simulations: `python -m benchmarks.detection`."""
