"""Solving cells on many machines: the client, and the task that workers which share a directory run."""
