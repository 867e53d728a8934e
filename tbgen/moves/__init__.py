"""Moves of men, which the solver and look-ups share: their geometry, frames, pools, and counting."""
