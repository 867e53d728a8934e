"""Benchmarks of tbgen, for asv (benchmarks/README.md)."""
