"""Sweeps shared out among threads, against those of one thread."""

import itertools
import threading
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.compiler.jit import int64, with_fixed_types
from tbgen.index.layout import BLACK_TO_MOVE, SIDES, layout_of
from tbgen.index.table import AccruedForm
from tbgen.index.zeroing import phases_after_pawn_steps
from tbgen.moves.kernels.frame import mark_legal
from tbgen.moves.kernels.words import ZERO, Words
from tbgen.moves.pool import PoolLoader
from tbgen.moves.structs import Frame, Men
from tbgen.retro import ranks, solver, workspace
from tbgen.retro.kernels.functions import Runs
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.kernels.sweep import Sweep, find_candidates, receive
from tbgen.retro.ranks import StageTimes
from tbgen.retro.workspace import make_workspace
from tbgen.tables.library import Library
from tests.support.digests import digest_of, right_digests
from tests.support.exhaustive import exhaustive
from tests.support.functions_of_runs import functions_of_runs
from tests.support.made_up_tables import Fresh, as_sources, made_up

R = Variant.R_MOBILITY


@pytest.mark.parametrize(("name", "parts"), [("KRBvK", 3), ("KBvKN", 64), ("KRvKR", 1), ("KRvK", 7)])
def test_parts_share_everything_out(name: str, parts: int) -> None:
    phase = make_workspace(layout_of(Material.parse(name)), R, parts)
    scratch, words = phase.attackers[0].scratch, phase.frame.words
    assert len(scratch.front_sizes) == len(scratch.has_assigned) == len(scratch.mark_groups) == parts
    owned = np.bincount(scratch.owners[np.arange(words) >> scratch.owner_bits], minlength=parts)
    assert owned.min() > 0
    assert scratch.front_start.tolist() == [0, *np.cumsum(2 * owned)]
    assert scratch.front_start[-1] == scratch.front_word.shape[1]


def test_small_phases_have_few_parts() -> None:
    for name, parts in {"KvK": 1, "KPvK": 1, "KRvK": 7, "KQvKP": 8}.items():
        phase = make_workspace(layout_of(Material.parse(name)), R, 8)
        assert len(phase.attackers[1].scratch.front_sizes) == parts, name


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        *(("KRBvK", variant) for variant in Variant),
        *exhaustive((name, variant) for name in ("KQvKP", "KNvKN") for variant in Variant),
    ],
)
def test_any_number_of_parts_gives_the_right_table(
    name: str, variant: Variant, whole_game_tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    material = Material.parse(name)
    # Nearly every level is shared out, so that parts meet at each of them.
    monkeypatch.setattr(ranks, "_MIN_SHARED_WORDS", int64(2))
    at_work: set[tuple[str, str, int]] = set()

    def observed(kernel: Callable[..., Any]) -> Callable[..., Any]:
        code = with_fixed_types(kernel)

        def work(sweep: Sweep, part: int, *mode: int) -> bool:
            at_work.add((kernel.__name__, threading.current_thread().name.split("_")[0], part))
            return bool(code(sweep, part, *mode))

        return work if kernel in (find_candidates, receive) else code

    monkeypatch.setattr(ranks, "with_fixed_types", observed)
    with Library(whole_game_tables, variant) as library:
        sources = library.sub_tables_of(material)
        for threads in (1, 2, 3, 8, 16, 64):
            at_work.clear()
            # With little memory, full outboxes are emptied within a level.
            monkeypatch.setattr(workspace, "_ENTRIES_PER_WORD", int(threads != 3))
            table = solver.solve(material, sources, variant, threads=threads, wide=True)
            assert digest_of(table) == right_digests(variant)[name], threads
            shared_out = ("find_candidates", "receive") if threads == 3 else ("find_candidates",)
            expected = {(work, "part", part) for work in shared_out for part in range(threads)}
            assert at_work >= (expected if threads > 1 else set())
        if variant.layered:
            functions = solver.solve(
                material, sources, variant, threads=3, wide=True, accrued=AccruedForm.FUNCTIONS
            ).functions
            assert functions is not None
            right_functions = functions_of_runs(table)
            for field in fields(functions)[1:]:
                found, right = getattr(functions, field.name), getattr(right_functions, field.name)
                assert np.array_equal(found, right), field.name


def solve_phase(
    phase: int, around: dict[Material, Fresh], threads: int
) -> tuple[np.ndarray, np.ndarray, list[Runs]]:
    """Values, depths and runs of one phase of KQBvKP with White's king in a corner and made-up values around,
    solved on some threads."""
    layout, rng = layout_of(Material.parse("KQBvKP")), np.random.default_rng(3)
    loader = PoolLoader(layout, as_sources(around))
    for side, reached in itertools.product(SIDES, phases_after_pawn_steps(layout, phase)):
        part = slice(side * layout.size + reached * layout.phase_size, None)
        loader.pool.value[part][: layout.phase_size] = rng.integers(0, 10, layout.phase_size)
        loader.pool.depth[part][: layout.phase_size] = rng.integers(0, 30, layout.phase_size)
    found = solver._TableSolver(layout, loader, None, R, threads, True, lambda *_: None, StageTimes())
    found.set_accrued_form(AccruedForm.RUNS, None, BLACK_TO_MOVE)
    idle: SimpleQueue[Workspace] = SimpleQueue()
    idle.put(make_workspace(layout, R, threads))
    found.solve_phase(idle, phase)
    found.crew.close(wait=True)
    slots = np.add.outer(np.array(SIDES) * layout.size + phase * layout.phase_size, np.arange(1 << 20))
    return loader.pool.value[slots], loader.pool.depth[slots], found.runs_by_phase[phase]


@pytest.mark.exhaustive
def test_shared_sweeps_with_a_pawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on one thread and on three, which meet at nearly every level."""

    def few_words(frame: Frame, legal: Words, men: Men, start: int, stop: int) -> None:
        mark_legal(frame, legal, men, start, stop)
        legal[:, max(start, 1 << 12) : stop] = ZERO  # White's king does not leave a1

    monkeypatch.setattr(ranks, "mark_legal", few_words)
    monkeypatch.setattr(ranks, "_MIN_SHARED_WORDS", int64(8))
    material = Material.parse("KQBvKP")
    smaller = sorted(sub for sub in material.successors() if sub.men < material.men)
    around = {sub: made_up(layout_of(sub), number, 30, 10) for number, sub in enumerate(smaller)}
    phase = next(row for row, pawns in enumerate(layout_of(material).placements) if pawns[0] >> 3 == 3)
    (value, depth, runs), expected = (solve_phase(phase, around, threads) for threads in (3, 1))
    assert np.array_equal(value, expected[0])
    assert np.array_equal(depth, expected[1])
    assert depth.max() > 20
    for one, other in zip(runs, expected[2], strict=True):
        assert len(one.rank) > 1000
        assert one.white_count == other.white_count
        for name in ("mask", "rank", "value", "depth"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
