"""Tables of described men against the reference solver, orthodox tables and independent figures."""

import numpy as np
import pytest

from tbgen.index.table import Table
from tests.retro.test_solver import check_fresh, check_states
from tests.support.exhaustive import exhaustive
from tests.support.reference import solve
from tests.support.reference_moves import DESCRIBED
from tests.support.solved_tables import solved

FEW = ["[RD]"]
"""Both of its ways lead to one square."""


@pytest.mark.slow
@pytest.mark.parametrize("man", [*FEW, *exhaustive(man for man in DESCRIBED if man not in FEW)])
def test_every_state_of_a_described_man(man: str) -> None:
    name = f"K{man}vK"
    check_fresh(solve(name), solved(name))
    assert check_states(solve(name), solved(name)) > 1_000_000


@pytest.mark.parametrize("wide", [True, False])
def test_a_man_of_chess_that_is_described_has_its_table(wide: bool) -> None:
    for chess_name, name in (("KRvK", "K[R]vK"), ("KNvK", "K[N]vK")):
        one, other = solved(chess_name), solved(name, wide)
        for array in ("value", "depth", "run_mask", "run_rank", "run_value", "run_depth"):
            assert np.array_equal(getattr(one, array), getattr(other, array)), array


def _longest_mate(table: Table) -> int:
    return int(table.depth[table.value == 0].max(initial=0))


LONGEST = [("K[WF]vK", 36), ("K[WD]vK", 58), ("K[R]vK", 32), ("K[BDD]vK", 0), ("K[F]vK", 0)]
"""By a program of its own for classical chess; 0 where nobody mates by force."""


@pytest.mark.parametrize(("name", "plies"), LONGEST)
def test_longest_mates_are_those_of_an_independent_program(name: str, plies: int) -> None:
    assert _longest_mate(solved(name)) == plies
