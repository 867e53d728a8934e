"""Depths that tables must know, and tables that do not."""

from pathlib import Path

import pytest

from tbgen.board.score import Code
from tbgen.index.layout import Side, Slot
from tbgen.tables.plain_table import PlainTable


def known(depth: int | None) -> int:
    """Return a depth that must not be None."""
    assert depth is not None
    return depth


def forget_depths(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    """From now on the tables of a directory do not know the depths of accrued scores that are not the value,
    as packed ones do not."""
    look_up = PlainTable.accrued

    def without_depth(file: PlainTable, side: Side, slot: Slot, code: Code) -> tuple[Code, int | None]:
        value, depth = look_up(file, side, slot, code)
        return value, depth if value == code or file.path.parent != directory else None

    monkeypatch.setattr(PlainTable, "accrued", without_depth)
