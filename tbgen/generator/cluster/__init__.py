"""Building on many machines: the client, the workers that share a directory, and the task they run."""
