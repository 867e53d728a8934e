"""Reading PGN: games, and how they ended."""
