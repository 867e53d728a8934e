"""A UCI engine that plays r-mobility: from tables where possible, otherwise by proofs and search."""
