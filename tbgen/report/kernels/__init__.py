"""The compiled loop of reports."""
