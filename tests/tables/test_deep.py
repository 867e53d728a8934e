"""Depths of hundreds of plies, whose halves have no symbols of one byte."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import LimitError
from tbgen.moves.structs import PhaseMoves, Pool
from tbgen.store.schema import BLOCK_DATA, BLOCK_FUNCTION_LENGTH
from tbgen.tables import encode, pack
from tbgen.tables.encode import Encoder
from tbgen.tables.library import Library
from tbgen.tables.pack import NeedFinder
from tests.support import packed_tables
from tests.support.exhaustive import sample
from tests.support.packed_tables import to_pack, write
from tests.tables.test_format import Packed


def test_every_depth_decodes(three_men: Path, tmp_path: Path) -> None:
    """A table with meaningless great depths is decoded to the same depths, position by position."""
    table, needed = to_pack(three_men, "KRvK")
    value, depth = table.value[needed.side], table.depth[needed.side]
    captures = np.unpackbits(needed.omitted.view(np.uint8), bitorder="little").astype(bool)[: len(depth)]
    said, number = (depth > 0) & ~captures, np.arange(len(depth))
    depth += np.choose(number % 6, (0, 508, 0, 1000, 0, 31000)).astype(np.uint16) * said
    wanted = depth.copy()
    path = write(table, needed, tmp_path)
    assert np.array_equal(table.depth[needed.side], wanted)
    with Library([path.parent, three_men], Variant.R_MOBILITY) as library:
        file = library.table(Material.parse("KRvK"))
        for slot in np.flatnonzero(said)[::7].tolist():
            assert file.fresh(needed.side, slot) == (value[slot], wanted[slot])
    reader = Packed(path, three_men)
    for slot in np.flatnonzero(said)[:: sample(3000, 97)].tolist():
        _, half, _ = reader.block(reader.row_of(slot) // reader.rows)[slot]
        assert half == wanted[slot] >> 1
    assert reader.met["deep"]
    assert {508, 509, 510, 511} & {*wanted[said].tolist()}


def test_a_depth_that_does_not_fit(three_men: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Deepened(NeedFinder):
        def __call__(self, phase: int, moves: PhaseMoves, pool: Pool, *rest: Any) -> None:
            pool.depth[:] = 1 << 15
            super().__call__(phase, moves, pool, *rest)

    monkeypatch.setattr(packed_tables, "NeedFinder", Deepened)
    with pytest.raises(LimitError, match="KRvK: depths of 32768 plies do not fit"):
        to_pack(three_men, "KRvK")


def test_a_rank_that_the_derivation_would_misjudge(three_men: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack, "MAX_DERIVED_RANK", 16)
    with pytest.raises(LimitError, match="KRvK: ranks of 17 to derive do not fit"):
        to_pack(three_men, "KRvK")


def test_functions_that_all_take_bytes(three_men: Path) -> None:
    """The buffers are large enough for blocks in which every function is rare."""
    table, needed = to_pack(three_men, "KQvK")
    functions = table.functions
    assert functions is not None
    there = table.value[needed.side] != 127
    many = 1 << 17
    functions.function_numbers[there] = many - 1 - np.arange(np.count_nonzero(there), dtype=np.uint32)
    functions.start = np.zeros(many + 1, np.int64)
    encoded = Encoder(table, needed, 2).encode()
    assert encoded[BLOCK_FUNCTION_LENGTH].max() > 1024


def test_contexts_from_a_sample(three_men: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of an eighth of the blocks is enough to choose contexts; symbols outside of it are encoded."""
    table, needed = to_pack(three_men, "KNvK")
    size = Encoder(table, needed, 2).encode()[BLOCK_DATA].size
    monkeypatch.setattr(encode, "_MAX_SAMPLED_BITS", 3)
    assert size < Encoder(table, needed, 2).encode()[BLOCK_DATA].size < 1.5 * size
