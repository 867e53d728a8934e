"""The solver: layered retrograde analysis on bit-parallel sets of positions (docs/architecture.md)."""
