"""Matches between engines by r-mobility: schedule, play, adjudication, statistics, and the PGN file."""
