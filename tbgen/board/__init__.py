"""Chess as far as single positions go: FENs, which positions are valid, how many moves they have."""
