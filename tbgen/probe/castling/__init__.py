"""Positions with castling rights: no table holds them, so that their cells are solved."""
