"""Games: reading from PGN, refereeing, adjudication, tags, and standings."""
