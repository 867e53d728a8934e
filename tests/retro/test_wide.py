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
from tbgen.compiler.jit import int64, jit, with_fixed_types
from tbgen.index.layout import BLACK_TO_MOVE, SIDES, layout_of
from tbgen.index.table import AccruedForm, Table
from tbgen.index.zeroing import reached_by_pawn_steps
from tbgen.packed.sources import Sources
from tbgen.retro import ranks, solver
from tbgen.retro.kernels.bits import ALL, ZERO, Ints, Words
from tbgen.retro.kernels.frame import Frame, legal_words
from tbgen.retro.kernels.layers import Workspace
from tbgen.retro.kernels.moves import ALL_MOVES, CROSSING, MOST_MOVES, MoveSearch, origins, room_for_moves
from tbgen.retro.kernels.runs import Runs
from tbgen.retro.kernels.sweep import Sweep, find_part
from tbgen.retro.pool import PoolLoader
from tbgen.retro.stages import Stages
from tbgen.retro.workspace import frame_of, make_workspace, place_pawns
from tests.support.exhaustive import exhaustive
from tests.support.made_up_tables import Fresh, as_sources, made_up


@jit
def count_origins(frame: Frame, word: int, mover: int, which: int) -> Ints:
    """How often each word is listed as an origin of a word."""
    room = room_for_moves(MOST_MOVES)
    live = np.full(frame.words // 64 + 1, ALL)
    found = np.zeros(frame.words, np.int64)
    search = MoveSearch(frame, mover, True, live, room)
    for number in range(origins(search, word, ALL, True, which, int64(0))):
        found[room.word[number]] += room.bits[number] != ZERO
    return found


@pytest.mark.parametrize("name", ["KRBvK", "KBvKN", "KRvKR", "KQBvKP"])
def test_moves_between_parts_are_the_crossing_ones(name: str) -> None:
    layout = layout_of(Material.parse(name))
    frame = frame_of(layout)
    place_pawns(frame, layout, 0)
    legal = np.zeros((2, frame.words), np.uint64)
    legal_words(frame, legal, 0, frame.words)
    king = (np.arange(frame.words) >> int(frame.shifts[1])) & 63
    rng = np.random.default_rng(5)
    crossed = 0
    for word in rng.choice(np.flatnonzero(legal.any(axis=0)), 200):
        for mover in (0, 1):
            every = count_origins(frame, int(word), mover, ALL_MOVES)
            crossing = count_origins(frame, int(word), mover, CROSSING)
            elsewhere = king != king[word]
            assert (crossing <= every).all()
            assert np.array_equal(crossing[elsewhere], every[elsewhere])
            crossed += int(crossing.sum())
    assert crossed > 0


@pytest.mark.parametrize(("name", "parts"), [("KRBvK", 3), ("KBvKN", 64), ("KQBvKP", 2), ("KRvKR", 1)])
def test_parts_share_everything_out(name: str, parts: int) -> None:
    workspace = make_workspace(layout_of(Material.parse(name)), Variant.R_MOBILITY, parts)
    scratch, words = workspace.attackers[0].scratch, workspace.frame.words
    assert len(scratch.front) == len(scratch.news) == len(scratch.live) == len(scratch.begin) - 1 == parts
    assert scratch.begin[0] == 0
    assert scratch.begin[-1] == 2 * words == scratch.front_word.shape[1]
    owned = np.bincount(scratch.part_of[(np.arange(words) >> int(workspace.frame.shifts[1])) & 63])
    assert np.array_equal(np.diff(scratch.begin), 2 * owned)


@pytest.mark.parametrize("name", ["KPvK", "KQvKP", "KRvK"])
def test_small_phases_have_one_part(name: str) -> None:
    workspace = make_workspace(layout_of(Material.parse(name)), Variant.R_MOBILITY, 4)
    assert len(workspace.attackers[1].scratch.front) == 1


def check_same(found: Table, expected: Table) -> None:
    assert np.array_equal(found.value, expected.value)
    assert np.array_equal(found.depth, expected.depth)
    assert (found.functions is None) == (expected.functions is None)
    if found.functions is not None and expected.functions is not None:
        for field in fields(found.functions)[1:]:
            array, wanted = getattr(found.functions, field.name), getattr(expected.functions, field.name)
            assert np.array_equal(array, wanted), field.name


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("KRBvK", Variant.R_MOBILITY),
        ("KRBvK", Variant.WHOLE_GAME),
        *exhaustive(
            [
                ("KQvKP", Variant.R_MOBILITY),
                ("KQvKP", Variant.WHOLE_GAME),
                *(("KNvKN", variant) for variant in Variant),
            ]
        ),
    ],
)
def test_any_number_of_threads_gives_the_same_table(
    name: str, variant: Variant, whole_game_tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    material = Material.parse(name)
    accrued = AccruedForm.FUNCTIONS if variant.resets else AccruedForm.NOTHING
    with Sources(whole_game_tables, variant) as files:
        sources = {sub: files.get(sub) for sub in material.successors()}

        def solve(threads: int, is_wide: bool) -> Table:
            return solver.solve(material, sources, variant, threads=threads, wide=is_wide, accrued=accrued)

        expected = solve(1, False)
        check_same(solve(1, True), expected)
        # Nearly every level is shared out, so that parts meet at each of them.
        monkeypatch.setattr(ranks, "_WORTH_SHARING", int64(2))
        at_work: set[tuple[str, int]] = set()

        def observed(kernel: Callable[..., Any]) -> Callable[..., Any]:
            code = with_fixed_types(kernel)

            def find(sweep: Sweep, part: int) -> None:
                at_work.add((threading.current_thread().name.split("_")[0], part))
                code(sweep, part)

            return find if kernel is find_part else code

        monkeypatch.setattr(ranks, "with_fixed_types", observed)
        for threads in (2, 3, 7):
            at_work.clear()
            check_same(solve(threads, True), expected)
            shared = layout_of(material).free > 3
            assert at_work >= {("part", part) for part in range(threads if shared else 0)}


def solve_phase(
    phase: int, around: dict[Material, Fresh], threads: int
) -> tuple[np.ndarray, np.ndarray, list[Runs]]:
    """Values, depths and runs of one phase of KQBvKP with White's king in a corner and made-up values around,
    solved on some threads."""
    layout, rng = layout_of(Material.parse("KQBvKP")), np.random.default_rng(3)
    loader = PoolLoader(layout, as_sources(around))
    for side, reached in itertools.product(SIDES, reached_by_pawn_steps(layout, phase)):
        part = slice(side * layout.size + reached * layout.phase_size, None)
        loader.pool.value[part][: layout.phase_size] = rng.integers(0, 10, layout.phase_size)
        loader.pool.depth[part][: layout.phase_size] = rng.integers(0, 30, layout.phase_size)
    found = solver._TableSolver(layout, loader, Variant.R_MOBILITY, threads, True, lambda *_: None, Stages())
    found.keep_accrued(AccruedForm.RUNS, None, BLACK_TO_MOVE)
    idle: SimpleQueue[Workspace] = SimpleQueue()
    idle.put(make_workspace(layout, Variant.R_MOBILITY, threads))
    found.solve_phase(idle, phase)
    found.crew.close(wait=True)
    slots = np.add.outer(np.array(SIDES) * layout.size + phase * layout.phase_size, np.arange(1 << 20))
    return loader.pool.value[slots], loader.pool.depth[slots], found.runs_of[phase]


@pytest.mark.exhaustive
def test_shared_sweeps_with_a_pawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on one thread and on three, which meet at nearly every level."""

    def few_words(frame: Frame, legal: Words, start: int, stop: int) -> None:
        legal_words(frame, legal, start, stop)
        legal[:, max(start, 1 << 12) : stop] = ZERO  # White's king does not leave a1

    monkeypatch.setattr(ranks, "legal_words", few_words)
    monkeypatch.setattr(ranks, "_WORTH_SHARING", int64(8))
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
        assert one.white == other.white
        for name in ("mask", "rank", "value", "depth"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
