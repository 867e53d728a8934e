"""Looking positions up: FEN, validation, values, moves and lines. Imports nothing that solves tables."""
