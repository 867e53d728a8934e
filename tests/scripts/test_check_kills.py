"""The script kills the solver, and finds what is not as it was without."""

import random
from pathlib import Path

import numpy as np
import pytest

from tbgen.board.score import NONE
from tests.support.script_modules import load_script

check_kills = load_script("check_kills")


@pytest.mark.exhaustive
def test_a_solver_that_is_killed_goes_on(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check_kills.kill_solver(3, small, tmp_path, random.Random(1))
    assert "3 kills in " in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["alone"]
    (cell,) = list((tmp_path / "alone" / "cells").glob("*.cell"))[:1]
    other = tmp_path / "other"
    other.mkdir()
    (other / cell.name).write_bytes(cell.read_bytes()[:-1])
    (wrong,) = check_kills.contradictions(tmp_path / "alone" / "cells", other)
    assert wrong.endswith(" cannot be used")


def test_bounds_that_leave_no_room_for_a_value() -> None:
    one = np.array([[[9, 9], [9, NONE]], [[5, 5], [5, NONE]]], np.uint8)  # a greater code is a lower score
    other = one.copy()
    assert check_kills.agree(one, other)
    other[:, 0, 0] = 9, 7
    assert check_kills.agree(one, other)
    other[:, 0, 0] = 4, 3
    assert not check_kills.agree(one, other)
    other[:, 0, 0] = NONE
    assert not check_kills.agree(one, other)
