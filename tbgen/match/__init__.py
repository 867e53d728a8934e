"""Matches of engines by r-mobility: schedule, play, adjudication, statistics, and the PGN that keeps it."""
