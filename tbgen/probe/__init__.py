"""Looking up positions: FEN, validation, values, moves and lines. Imports no module that solves tables."""
