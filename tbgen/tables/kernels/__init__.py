"""The compiled loops of the packed form: jitted functions and nothing else."""
