"""One pass over a table, and everything that is counted on it."""
