"""The independent proof of a finished table, by forward move generation."""
