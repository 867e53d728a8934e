"""Compiled loops of the proof of cells; nothing else."""
