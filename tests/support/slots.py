"""Boards of any slots of a table."""

import chess

from tbgen.index.layout import Layout, Side, Slot
from tbgen.index.position import board_of


def board_at(layout: Layout, side: int, slot: int) -> chess.Board | None:
    """The board that any slot stands for, None if two men share a square."""
    try:
        return board_of(layout, Side(side), Slot(slot))
    except ValueError:
        return None
