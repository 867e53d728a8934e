"""A UCI engine that plays r-mobility: by tables where possible, otherwise by proofs and search."""
