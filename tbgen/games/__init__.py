"""Games: read from PGN, refereed, adjudicated, tagged, and added up to standings."""
