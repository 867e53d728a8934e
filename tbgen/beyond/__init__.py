"""Cells: all positions that differ in the squares of some men only, and the games that bound them."""
