"""Parameters with which a test shows more of the same: ``scripts/test --all`` runs them."""

from collections.abc import Iterable
from typing import Any

import pytest


def exhaustive(cases: Iterable[Any]) -> list[Any]:
    """Return the cases as parameters of a test; a tuple is a case of several parameters."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.exhaustive)
        for case in cases
    ]
