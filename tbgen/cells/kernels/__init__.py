"""Compiled loops of the cells' solver."""
