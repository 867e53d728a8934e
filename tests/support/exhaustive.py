"""Parameters and samples with which a test shows more of the same: ``scripts/test --all`` runs them."""

import os
from collections.abc import Iterable
from typing import Any

import pytest

FEW = "TBGEN_TEST_FEW"
"""The environment variable that is set where exhaustive tests are left out."""


def exhaustive(cases: Iterable[Any]) -> list[Any]:
    """Return the cases as parameters of a test; a tuple is a case of several parameters."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.exhaustive)
        for case in cases
    ]


def sample(few: int, full: int) -> int:
    """Return how much a test tries: ``few``, or ``full`` where exhaustive tests run too."""
    return few if FEW in os.environ else full
