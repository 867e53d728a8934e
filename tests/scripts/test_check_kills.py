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


def test_what_differs(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert check_kills.compared(tmp_path / "run", {"a": 1, "b": 2}, {"a": 2, "b": 2, "c": 3}) == [
        f"{tmp_path}/run: a",
        f"{tmp_path}/run: c",
    ]
    assert check_kills.compared(tmp_path / "run", {"a": 1}, {"a": 1}) == []
    assert not (tmp_path / "run").exists()
