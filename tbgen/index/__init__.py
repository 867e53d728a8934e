"""Where a position stands in its table: symmetries, pawn placements and the index."""
