"""Building tables in a directory: what is needed, what it will cost, one build at a time."""

from tbgen.build.accrued import Accrued
from tbgen.build.estimate import Estimate, check_memory, estimate
from tbgen.build.runner import Built, Reporter, build, missing

__all__ = ["Accrued", "Built", "Estimate", "Reporter", "build", "check_memory", "estimate", "missing"]
