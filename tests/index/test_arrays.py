"""Arrays of slots are converted to squares and back as single slots are."""

import chess
import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.index.arrays import slots_of, squares_of
from tbgen.index.layout import IMAGE, MIRROR_FILES, layout_of

NAMES = ["KvK", "KBvK", "KPvK", "KNNvK", "KQvKR", "KPvKP", "KPPvK", "KRPvK", "KNNvKN", "KBPvKP", "KPPvKP"]


@pytest.mark.parametrize("name", NAMES)
def test_there_and_back(name: str) -> None:
    """Random squares, even of illegal positions, are tested in every image and every order of like men."""
    layout = layout_of(Material.parse(name))
    rng = np.random.default_rng(NAMES.index(name))
    slots = rng.integers(0, layout.size, 500)
    squares = squares_of(layout, slots)
    one_by_one = [layout.squares(slot) for slot in slots.tolist()]
    assert squares.tolist() == [[*free, *pawns] for free, pawns in one_by_one]
    canonical = slots_of(layout, squares)
    assert canonical.tolist() == [layout.slot(free, pawns) for free, pawns in one_by_one]
    assert (canonical <= slots).all()
    assert (slots_of(layout, squares_of(layout, canonical)) == canonical).all()
    for symmetry in (0, MIRROR_FILES) if layout.pawns else range(8):
        assert (slots_of(layout, np.array(IMAGE[symmetry], np.uint8)[squares]) == canonical).all()
    like = [*layout.like_men]
    if layout.white_pawns > 1:
        like.append((layout.free_count, layout.free_count + layout.white_pawns))
    for start, stop in like:
        squares[:, start:stop] = squares[:, start:stop][:, ::-1].copy()
        assert (slots_of(layout, squares) == canonical).all()


def test_squares_that_a_pawn_cannot_have() -> None:
    layout = layout_of(Material.parse("KPvK"))
    squares = np.array([[chess.A1, chess.C1, pawn] for pawn in range(64)], np.uint8)
    assert ((slots_of(layout, squares) >= 0) == (np.arange(64) // 8 % 7 > 0)).all()
    assert slots_of(layout, squares[:0]).shape == (0,)
    assert squares_of(layout, np.empty(0, np.int64)).shape == (0, 3)
