"""Packed tables: one side to move is stored in a few bits per position, the other side is derived."""
