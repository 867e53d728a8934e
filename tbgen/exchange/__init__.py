"""Tables between people: publishing a set for a web server, and fetching tables of one."""
