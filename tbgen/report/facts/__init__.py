"""What the counts of a table and its probes say about an endgame."""
