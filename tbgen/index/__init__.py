"""The index of tables: symmetries, pawn placements, and the slot of each position."""
