"""flexjoint against Pinocchio and MuJoCo in one process: `python -m benchmarks --output benchmarks/results`."""
