"""Building tables in a directory: the missing tables, the estimated cost, and the build itself."""

from tbgen.generator.estimate import Estimate, check_memory, estimate
from tbgen.generator.one_table import BuildReporter, BuiltTable
from tbgen.generator.runner import build, missing_tables

__all__ = ["BuildReporter", "BuiltTable", "Estimate", "build", "check_memory", "estimate", "missing_tables"]
