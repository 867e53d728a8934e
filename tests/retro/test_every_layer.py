"""All layers of a table one after the other, against each of them alone."""

from pathlib import Path

import numpy as np
import pytest

from tbgen.board.score import NONE, GScore, Rank
from tbgen.index.layout import SIDES
from tbgen.retro.kernels.phase import LayerPart
from tbgen.retro.layer_solvers import EveryLayer, LayerSolver
from tests.support.exhaustive import exhaustive
from tests.support.packed_tables import plain
from tests.support.solved_tables import source_of


def present_in(part: LayerPart) -> np.ndarray:
    """Return the positions of a part of a layer, bool (2, slots)."""
    return np.unpackbits(part.present.view(np.uint8), axis=1, bitorder="little").view(bool)


@pytest.mark.parametrize(
    ("name", "batch_slots", "stride"),
    [
        *[("KvK", 1, 1), ("KNvK", 1 << 23, 1), ("KPvK", 3 << 12, 4), ("first KPvKP", 2 << 12, 1)],
        *exhaustive([("KNvK", 1, 1), ("KPvK", 1, 1), ("KNNvK", 1 << 23, 1), ("KPvKP", 50 << 12, 50)]),
    ],
)
def test_layers_are_those_solved_alone(
    name: str, batch_slots: int, stride: int, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one phase in a batch, and all threads on it, and with several small ones, in parts. One phase in
    ``stride`` is compared, and after the last rank no layer is left. Promotions from the first three batches
    of KPvKP lead to different blocks."""
    monkeypatch.setattr("tbgen.index.zeroing._MAX_BATCH_SLOTS", batch_slots)
    monkeypatch.setattr("tbgen.retro.layer_solvers._MAX_PART_SLOTS", 1 << 12)
    only_first, name = name.startswith("first"), name.split()[-1]
    table = plain(tables, name)
    layout = table.layout
    sources = {sub: source_of(plain(tables, sub.name)) for sub in table.material.successors()}
    seen = 0
    with EveryLayer(table, sources, threads=3) as every:
        assert [phase for first, last in every.batches for phase in range(first, last)] == list(
            range(len(layout.placements))
        )
        for batch in every.batches[:3] if only_first else every.batches:
            alone = {
                phase - batch[0]: LayerSolver(table, layout, phase, sources, threads=2)
                for phase in range(*batch)
                if phase % stride == 0
            }
            parts = range((batch[1] - batch[0]) * layout.phase_size // every.part_slots)
            for rank in every.ranks(batch):
                for holder in SIDES:
                    layer = [every.read(holder, part) for part in parts]
                    there = np.hstack([present_in(part) for part in layer])
                    seen += int(there.sum())
                    shape = 2, batch[1] - batch[0], -1
                    value = np.where(there, np.hstack([part.value for part in layer]), NONE).reshape(shape)
                    depth = np.where(there, np.hstack([part.depth for part in layer]), 0).reshape(shape)
                    for number, solver in alone.items():
                        wanted = solver.solve(GScore(Rank(rank), holder == 0))
                        assert (value[:, number] == wanted[0]).all()
                        assert (depth[:, number] == wanted[1]).all()
            assert not any(every.read(holder, part).present.any() for holder in SIDES for part in parts)
            for solver in alone.values():
                assert (solver.solve(GScore(Rank(rank + 1), white=True))[0] == NONE).all()
    assert seen > 0
