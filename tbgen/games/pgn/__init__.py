"""Reading of PGN: games and their endings."""
