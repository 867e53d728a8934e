"""Compiled loops of the proof, one position at a time."""
