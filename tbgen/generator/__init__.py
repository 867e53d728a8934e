"""Building tables in a directory: what is needed, what it will cost, one build at a time."""

from tbgen.generator.estimate import Estimate, check_memory, estimate
from tbgen.generator.one_table import Built, Reporter
from tbgen.generator.runner import build, missing

__all__ = ["Built", "Estimate", "Reporter", "build", "check_memory", "estimate", "missing"]
