"""Cells, sets of positions that differ only in the squares of mobile men, and the games that bound them."""
