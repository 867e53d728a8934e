"""All layers of a table one after the other, against each of them alone."""

from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest

from tbgen.board.score import NONE, GScore, Rank
from tbgen.index.table import ArrayTable
from tbgen.retro.layer_solvers import EveryLayer, LayerSolver
from tests.support.exhaustive import exhaustive
from tests.support.packed_tables import plain
from tests.support.solved_tables import source_of


@pytest.mark.parametrize(
    ("name", "batch_slots", "stride"),
    [
        *[("KvK", 1, 1), ("KNvK", 1 << 23, 1), ("KPvK", 3 << 12, 4)],
        *exhaustive([("KNvK", 1, 1), ("KPvK", 1, 1), ("KNNvK", 1 << 23, 1), ("KPvKP", 50 << 12, 50)]),
    ],
)
def test_layers_are_those_solved_alone(
    name: str, batch_slots: int, stride: int, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one phase in a batch, and all threads on it, and with several small ones. One phase in ``stride``
    is compared, each pair of layers when the next one is there too, and after the last one none is left."""
    monkeypatch.setattr("tbgen.index.zeroing._MAX_BATCH_SLOTS", batch_slots)
    table = plain(tables, name)
    layout = table.layout
    whole = ArrayTable(table.value, table.depth, table.ep_value, table.ep_depth)
    sources = {sub: source_of(plain(tables, sub.name)) for sub in table.material.successors()}
    seen = 0
    with EveryLayer(table, sources, threads=3) as every:
        assert [phase for first, last in every.batches for phase in range(first, last)] == list(
            range(len(layout.placements))
        )
        for batch in every.batches:
            alone = {
                phase - batch[0]: LayerSolver(whole, layout, phase, sources, threads=2)
                for phase in range(*batch)
                if phase % stride == 0
            }
            rank = 1
            for both, _ in pairwise(chain(every.layers(batch), [None])):  # asks for the next one before
                rank += 1
                assert both is not None
                for white, layer in zip((True, False), both, strict=True):
                    bits = np.unpackbits(layer.present.view(np.uint8), axis=1, bitorder="little")
                    there = bits.view(bool).reshape(2, batch[1] - batch[0], -1)
                    seen += int(there.sum())
                    value = np.where(there, layer.value.reshape(there.shape), NONE)
                    depth = np.where(there, layer.depth.reshape(there.shape), 0)
                    for number, solver in alone.items():
                        wanted = solver.solve(GScore(Rank(rank), white))
                        assert (value[:, number] == wanted[0]).all()
                        assert (depth[:, number] == wanted[1]).all()
            for solver in alone.values():
                assert (solver.solve(GScore(Rank(rank + 1), white=True))[0] == NONE).all()
    assert seen > 0
