"""All layers of a table one after the other, against each of them alone."""

from pathlib import Path

import numpy as np
import pytest

from tbgen.index.source import ArrayTable
from tbgen.retro import every_layer
from tbgen.retro.every_layer import EveryLayer
from tbgen.retro.layer import LayerSolver
from tbgen.score import NONE, GScore, Rank
from tests.support.packed_tables import plain
from tests.support.solved_tables import source_of

_EVERY = 50
"""One phase in so many is compared."""


@pytest.mark.parametrize(
    ("name", "window_slots"),
    [("KvK", 1), ("KNvK", 1), ("KPvK", 1), ("KPvK", 3 << 12), ("KNNvK", 1 << 23), ("KPvKP", 1 << 23)],
)
def test_layers_are_those_solved_alone(
    name: str, window_slots: int, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one phase in a window, and all threads on it; with three small ones; and with many."""
    monkeypatch.setattr(every_layer, "_WINDOW_SLOTS", window_slots)
    table = plain(tables, name)
    layout = table.layout
    whole = ArrayTable(table.value, table.depth, table.ep_value, table.ep_depth)
    sources = {sub: source_of(plain(tables, sub.name)) for sub in table.material.successors()}
    seen = 0
    with EveryLayer(whole, layout, sources, threads=3) as every:
        assert [phase for first, last in every.windows for phase in range(first, last)] == list(
            range(len(layout.placements))
        )
        for window in every.windows:
            phases = range(*window)
            alone = [LayerSolver(whole, layout, phase, sources) for phase in phases if phase % _EVERY == 0]
            for rank, both in enumerate(every.layers(window), start=2):
                for white, layer in zip((True, False), both, strict=True):
                    bits = np.unpackbits(layer.there.view(np.uint8), axis=1, bitorder="little")
                    there = bits.view(bool).reshape(2, len(phases), -1)
                    seen += int(there.sum())
                    value = np.where(there, layer.value.reshape(there.shape), NONE)
                    depth = np.where(there, layer.depth.reshape(there.shape), 0)
                    for solver, phase in zip(alone, (p for p in phases if p % _EVERY == 0), strict=True):
                        wanted = solver.solve(GScore(Rank(rank), white))
                        number = phase - phases[0]
                        assert (value[:, number] == wanted[0]).all()
                        assert (depth[:, number] == wanted[1]).all()
    assert seen > 0
