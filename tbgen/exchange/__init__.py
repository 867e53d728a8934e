"""Publishing tables and cells for a web server, fetching published ones, and exporting flat files."""
