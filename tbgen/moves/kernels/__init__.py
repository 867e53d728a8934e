"""Compiled loops of the solver, on words of 64 positions."""
