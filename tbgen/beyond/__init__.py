"""Solving positions beyond the tables: choice of cells, bounds, lines, proofs, budgets and kept results."""
