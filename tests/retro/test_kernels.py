"""The solver's kernels against slow equivalents: single squares, single positions of python-chess."""

import random
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.compiler.jit import int64, jit
from tbgen.index.layout import SIDES, Layout, layout_of
from tbgen.index.source import ArraySource, Source
from tbgen.index.symmetry import IMAGE
from tbgen.index.table import FRESH, LAST_RUN, Table
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.retro.expansion import expand
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import Ints, Word, Words, image
from tbgen.retro.kernels.bits import bits_of as set_bits
from tbgen.retro.kernels.canonical import canonical_words
from tbgen.retro.kernels.events import Agenda, Events, Goals, events_of, next_agenda, no_events
from tbgen.retro.kernels.exits import NO_EXIT
from tbgen.retro.kernels.frame import Frame, is_image, legal_words
from tbgen.retro.kernels.layers import Workspace
from tbgen.retro.kernels.mobility import of_rank_at_least, rank_at
from tbgen.retro.kernels.movement import reach
from tbgen.retro.kernels.moves import (
    ALL_MOVES,
    MOST_MOVES,
    MoveSearch,
    all_origins,
    origins,
    room_for_moves,
    solved_slot,
)
from tbgen.retro.kernels.phase import count_moves
from tbgen.retro.kernels.runs import Log
from tbgen.retro.kernels.sweep import SweepResults
from tbgen.retro.movement import ORTHODOX
from tbgen.retro.pool import PoolLoader
from tbgen.retro.solver import runs_of
from tbgen.retro.workspace import frame_of, like_men, make_workspace, mirrors_itself, place_pawns
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile
from tests.support.exhaustive import exhaustive
from tests.support.one_ply import by_probing
from tests.support.slots import board_at
from tests.support.table_states import canonical_slots, squares_of

TYPES = [chess.KING, chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT]
"""By number of the kind."""
MATERIALS = ["KvK", "KNvK", "KQvKR", "KNNvK", "KBvKB", "KBPvK", "KPvKP", "KPPvK", "KNvKP", "KQvKP"]


# What only kernels may call, called by kernels


@jit
def images(words: Words, symmetry: int) -> Words:
    found = np.empty_like(words)
    for number in range(len(words)):
        found[number] = image(words[number], symmetry)
    return found


@jit
def reached(kind: int, words: Words, empty: Words) -> Words:
    found = np.empty_like(words)
    for number in range(len(words)):
        found[number] = reach(ORTHODOX, kind, words[number], empty[number])
    return found


@jit
def rank_of_slot(slices: Words, slot: int) -> int:
    return rank_at(slices[slot >> 6], slot & 63)


@jit
def at_least(slices: Words, rank: int) -> Word:
    return of_rank_at_least(slices, rank)


@jit
def image_words(frame: Frame) -> NDArray[np.bool_]:
    return np.array([is_image(frame, word) for word in range(frame.words)])


@jit
def solved_slots(frame: Frame, slots: Ints) -> Ints:
    squares = np.empty(8, np.int64)
    return np.array([solved_slot(frame, slot, squares) for slot in slots])


@jit
def count_origins(
    frame: Frame, target: Words, mover: int, each_move: bool, allowed: Words, images: bool
) -> Ints:
    """How often each slot is listed as an origin of the set, or of the set and its images."""
    out = room_for_moves(MOST_MOVES)
    live = np.zeros(frame.words // 64 + 1, np.uint64)  # words with an allowed position
    for word in range(frame.words):
        if allowed[word]:
            live[word >> 6] |= BIT[word & 63]
    found = np.zeros(64 * frame.words, np.int64)
    search = MoveSearch(frame, mover, True, live, out)
    for word in range(frame.words):
        if target[word]:
            given = search, word, target[word], each_move, ALL_MOVES, int64(0)
            count = all_origins(*given) if images else origins(*given)
            for number in range(count):
                for bit in set_bits(out.bits[number] & allowed[out.word[number]]):
                    found[64 * out.word[number] + bit] += 1
    return found


# Ranks


def test_ranks_of_a_word_are_compared_at_once() -> None:
    slices = np.random.default_rng(1).integers(0, 1 << 64, 8, np.uint64)
    ranks = [rank_of_slot(slices[np.newaxis], slot) for slot in range(64)]
    for rank in range(256):
        expected = sum(1 << slot for slot in range(64) if ranks[slot] >= rank)
        assert int(at_least(slices, rank)) == expected


# Words


def words(number: int, seed: int) -> list[int]:
    """Words of few, some and many bits."""
    rng = random.Random(seed)
    found = [rng.getrandbits(64) for _ in range(number)]
    found += [rng.getrandbits(64) & rng.getrandbits(64) & rng.getrandbits(64) for _ in range(number)]
    found += [rng.getrandbits(64) | rng.getrandbits(64) | rng.getrandbits(64) for _ in range(number)]
    return [*found, 0, 2**64 - 1, *(1 << square for square in range(64))]


def bits_of(word: int) -> list[int]:
    return [square for square in range(64) if word >> square & 1]


@pytest.mark.parametrize("symmetry", range(8))
def test_image(symmetry: int) -> None:
    chosen = words(30, symmetry)
    expected = [sum(1 << IMAGE[symmetry][square] for square in bits_of(word)) for word in chosen]
    assert images(np.array(chosen, np.uint64), symmetry).tolist() == expected


@pytest.mark.parametrize("kind", range(len(TYPES)))
def test_reach(kind: int) -> None:
    chosen, empty = words(60, kind), words(60, 9)[::-1]
    expected = []
    for word, free in zip(chosen, empty, strict=True):
        attacked = 0
        for square in bits_of(word):
            board = chess.BaseBoard(None)
            for other in bits_of(~free & 2**64 - 1 & ~(1 << square)):
                board.set_piece_at(other, chess.Piece(chess.PAWN, chess.WHITE))
            board.set_piece_at(square, chess.Piece(TYPES[kind], chess.WHITE))
            attacked |= int(board.attacks(square))
        expected.append(attacked & free)
    assert reached(kind, np.array(chosen, np.uint64), np.array(empty, np.uint64)).tolist() == expected


@pytest.mark.parametrize("name", [*MATERIALS, "KQQvK", "KNNNvK", "KRRvKR"])
def test_canonical_words(name: str) -> None:
    layout = layout_of(Material.parse(name))
    rng = random.Random(name)
    frame = frame_of(layout)
    for phase in rng.sample(range(len(layout.placements)), min(20, len(layout.placements))):
        found = np.zeros(frame.words, np.uint64)
        like, mirrored = like_men(layout), mirrors_itself(layout, phase)
        start = rng.randrange(max(1, frame.words - 500))
        stop = min(start + 500, frame.words)
        canonical_words(frame, like, mirrored, found, start, stop)
        chosen = [rng.randrange(64 * start, 64 * stop) for _ in range(2000)]
        slots = np.array(chosen, np.int64) + phase * layout.phase_size
        expected = canonical_slots(layout, *squares_of(layout, slots)) == slots
        assert [int(found[slot >> 6]) >> (slot & 63) & 1 for slot in chosen] == expected.tolist()


@pytest.mark.parametrize("name", ["KNNvK", "KQvKR", "KBPvK", "KPPvK"])
def test_expand(name: str) -> None:
    layout = layout_of(Material.parse(name))
    rng = np.random.default_rng(1)
    value = rng.integers(0, 256, (2, layout.size), np.uint8)
    depth = rng.integers(0, 999, (2, layout.size), np.uint16)
    expanded = value.copy(), depth.copy()
    expand_all(layout, *expanded)
    slots = rng.integers(0, layout.size, 100_000)
    canonical = canonical_slots(layout, *squares_of(layout, slots))
    assert np.array_equal(expanded[0][:, slots], value[:, canonical])
    assert np.array_equal(expanded[1][:, slots], depth[:, canonical])


# Moves


def has(sets: np.ndarray, slot: int) -> bool:
    return bool(int(sets[slot >> 6]) >> (slot & 63) & 1)


def phase_of(layout: Layout, phase: int) -> Workspace:
    """A workspace with the legal positions of a phase."""
    workspace = make_workspace(layout, Variant.R_MOBILITY)
    place_pawns(workspace.frame, layout, phase)
    legal_words(workspace.frame, workspace.phase.legal, 0, workspace.frame.words)
    return workspace


@pytest.fixture(scope="module")
def tablebase(tables: Path) -> Iterator[Tablebase]:
    """All tables of up to four men."""
    with open_tablebase(tables) as tablebase:
        yield tablebase


def around_and_own(layout: Layout, tables: Path) -> tuple[PoolLoader, Table]:
    """The pool of a table, and the table."""
    sources: dict[Material, Source] = {}
    for material in [*layout.material.successors(), layout.material]:
        with TableFile(table_path(tables, material.name, Variant.R_MOBILITY)) as file:
            table = file.read()
        sources[material] = ArraySource(table.value, table.depth)
    expand_all(layout, table.value, table.depth)
    return PoolLoader(layout, sources), table


def put_own(loader: PoolLoader, layout: Layout, table: Table, phase: int) -> None:
    """Fill the pool with the table's own slots as they are when a phase is solved."""
    pool, solved = loader.pool, phase * layout.phase_size
    for array, filled in ((pool.value, table.value), (pool.depth, table.depth)):
        array[: 2 * layout.size].reshape(2, -1)[:, :solved] = filled[:, :solved]
    end = pool.targets.ep_offset + table.ep_value.size
    pool.value[pool.targets.ep_offset : end] = table.ep_value.reshape(-1)
    pool.depth[pool.targets.ep_offset : end] = table.ep_depth.reshape(-1)


def expand_all(layout: Layout, value: np.ndarray, depth: np.ndarray) -> None:
    for phase in range(len(layout.placements)):
        part = slice(phase * layout.phase_size, (phase + 1) * layout.phase_size)
        for side in SIDES:
            expand(layout, phase, value[side, part], depth[side, part])


@pytest.mark.parametrize("name", MATERIALS)
def test_legality_ranks_and_exits(name: str, tables: Path, tablebase: Tablebase) -> None:
    layout = layout_of(Material.parse(name))
    rng = random.Random(name)
    loader, table = around_and_own(layout, tables)
    look_up = by_probing(tablebase)
    legal = 0
    for phase in rng.sample(range(len(layout.placements)), min(8, len(layout.placements))):
        workspace = phase_of(layout, phase)
        loader.prepare([phase])
        put_own(loader, layout, table, phase)
        count_moves(workspace, loader.pool, mirrors_itself(layout, phase), 0, workspace.frame.words)
        for _ in range(900 // min(8, len(layout.placements))):
            slot, side = rng.randrange(layout.phase_size), rng.randrange(2)
            board = board_at(layout, side, phase * layout.phase_size + slot)
            possible = board is not None and not board.was_into_check()
            assert has(workspace.phase.legal[side], slot) == possible
            if board is None or not possible:
                continue
            legal += 1
            moves = list(board.legal_moves)
            rank = 2 * len(moves) + (not board.is_check())
            assert rank_of_slot(workspace.phase.slices[side], slot) == rank, board.fen()
            quiet = sum(not board.is_zeroing(move) for move in moves)
            assert workspace.phase.quiet[side, slot] == quiet, board.fen()
            reached = []
            for move in moves:
                if board.is_zeroing(move):
                    after = board.copy()
                    after.push(move)
                    reached.append(look_up(after, None))
            check_exit(workspace, side * layout.phase_size + slot, reached, board)
    assert legal > 200


def check_exit(
    workspace: Workspace, node: int, reached: list[tuple[GScore, int]], board: chess.Board
) -> None:
    """The best zeroing move of a position is in place, with the depths of all that are as good."""
    if not reached:
        assert workspace.exits.nearest[node] == NO_EXIT
        return
    value = (max if board.turn else min)(value for value, _ in reached)
    depths = [depth for other, depth in reached if other == value]
    found = workspace.exits.value[node], workspace.exits.nearest[node], workspace.exits.farthest[node]
    assert found == (value.code, min(depths), max(depths)), board.fen()


@pytest.mark.parametrize("mover", [0, 1])
@pytest.mark.parametrize(
    ("name", "images"),
    [
        *((name, True) for name in ("KvK", "KNvK", "KQvKR", "KNNvK", "KRPvK", "KNvKP", "KPvKP")),
        *((name, False) for name in ("KNvK", "KQvKR")),
        *exhaustive((name, False) for name in ("KvK", "KNNvK", "KRPvK", "KNvKP", "KPvKP")),
    ],
)
def test_origins(name: str, mover: int, images: bool) -> None:
    """A position has as many entries as it has quiet moves into the set, if each move is asked for; with
    ``images``, the set and the positions are without what is not solved."""
    layout = layout_of(Material.parse(name))
    rng = np.random.default_rng(mover)
    phase = int(rng.integers(len(layout.placements)))
    workspace = phase_of(layout, phase)
    first = phase * layout.phase_size
    # Sets of the solver hold a position in all its slots or in none.
    slots = np.arange(first, first + layout.phase_size)
    chosen = rng.random(layout.size) < 0.02
    member = chosen[canonical_slots(layout, *squares_of(layout, slots))]
    target = packed(member) & workspace.phase.legal[1 - mover]
    allowed = packed(rng.random(layout.phase_size) < 0.7) & workspace.phase.legal[mover]
    if images:
        left_out = image_words(workspace.frame)
        assert left_out.any() == (not layout.pawns and layout.free > 2)
        target[left_out], allowed[left_out] = 0, 0
    moves = count_origins(workspace.frame, target, mover, True, allowed, images)
    some = count_origins(workspace.frame, target, mover, False, allowed, images)
    assert np.array_equal(some > 0, moves > 0)
    checked = 0
    for slot in rng.integers(layout.phase_size, size=1500).tolist():
        expected = 0
        board = board_at(layout, mover, first + slot)
        if board is not None and has(allowed, slot):
            checked += 1
            for move in board.legal_moves:
                if not board.is_zeroing(move):
                    free, pawns = layout.squares(first + slot)
                    free[free.index(move.from_square)] = move.to_square
                    expected += bool(chosen[layout.slot(free, pawns)])
        assert moves[slot] == expected, board and board.fen()
    assert checked > 100


@pytest.mark.parametrize("name", ["KvK", "KNvK", "KQvKR", "KNNvK", "KRPvK"])
def test_images_are_solved_as_what_they_are_images_of(name: str) -> None:
    layout = layout_of(Material.parse(name))
    frame = phase_of(layout, 0).frame
    slots = np.arange(layout.phase_size)
    canonical = canonical_slots(layout, *squares_of(layout, slots))
    left_out = image_words(frame)
    assert not (canonical == slots)[np.repeat(left_out, 64)].any()
    solved = solved_slots(frame, slots)
    assert not left_out[solved >> 6].any()
    assert np.array_equal(canonical[solved], canonical)
    assert np.array_equal(solved[~np.repeat(left_out, 64)], slots[~np.repeat(left_out, 64)])


def packed(member: np.ndarray) -> np.ndarray:
    return np.packbits(member, bitorder="little").view(np.uint64)


# Events and runs


WORDS = 100


def some_events(number: int, attacker: int, more: int = 0, high: int = 255) -> tuple[Events, list[list[int]]]:
    """Events of some positions, and [level, node] of each as they are expected to come."""
    rng = np.random.default_rng(number + attacker)
    member = np.zeros(2 * 64 * WORDS, bool)
    member[rng.permutation(len(member))[:number]] = True
    value = rng.choice([3, 7, 130, 250, 254, *range(20, 90)], len(member)).astype(np.uint8)
    depth = rng.choice([1, 2, 255, 256, 999], len(member)).astype(np.uint16)
    white, black = np.split(depth, 2)
    starts = np.array([0, 64 * WORDS])
    depths = np.concatenate([white, white]), np.concatenate([black, black])
    events = events_of(attacker, packed(member).reshape(2, -1), Goals(value, depths, starts, more), high)
    key = (255 - value if attacker else value).astype(int)
    level, node = key * 65536 + depth + more, np.arange(len(member))
    order = np.lexsort([node, level])
    return events, np.stack([level, node], axis=1)[order[(member & (key < high))[order]]].tolist()


def parts_of(events: Events) -> list[list[int]]:
    """[level, node] of all events, which come by level."""
    assert (np.diff(events.level) > 0).all()
    assert (np.diff(events.start) > 0).all()
    level = np.repeat(events.level, np.diff(events.start))
    return np.stack([level, events.node[: events.start[-1]]], axis=1).astype(int).tolist()


@pytest.mark.parametrize("attacker", [0, 1])
@pytest.mark.parametrize("number", [0, 1, 300, 12_000])
def test_events_come_by_level_and_node(number: int, attacker: int) -> None:
    for more, high in ((0, 255), (1, 255), (0, 80)):
        events, expected = some_events(number, attacker, more, high)
        assert parts_of(events) == expected


@pytest.mark.parametrize(("first", "last"), [(0, 256), (7, 200), (90, 91)])
def test_events_are_merged(first: int, last: int) -> None:
    (one, parts), (other, more) = some_events(5000, 0), some_events(700, 1)
    expected = [[level, node] for level, node in [*parts, *more] if first <= level >> 16 < last]
    alive = np.zeros((2, WORDS), np.uint64)
    for before, after in ((one, other), (other, one)):
        agenda = next_agenda(Agenda(no_events(), before, 0), after, alive, first, last)
        assert sorted(parts_of(agenda.settled)) == sorted(expected)
    agenda = Agenda(no_events(), no_events(), 0)
    assert parts_of(next_agenda(agenda, no_events(), alive, first, last).settled) == []


@pytest.mark.parametrize("share", [0.1, 0.6, 0.86, 0.9, 1])
def test_exits_of_those_that_have_left_are_taken_out(share: float) -> None:
    """Not each time, but before there are many of them."""
    member = np.random.default_rng(3).random(2 * 64 * WORDS) < share
    exits, parts = some_events(5000, 0)
    settled, more = some_events(700, 1)
    agenda = Agenda(exits, no_events(), len(member))
    agenda = next_agenda(agenda, settled, packed(member).reshape(2, -1), 4, 200)
    inside = [[level, node] for level, node in parts if 4 <= level >> 16 < 200 and member[node]]
    assert parts_of(agenda.exits) == (inside if share < 7 / 8 else parts)
    assert agenda.alive == (member.sum() if share < 7 / 8 else len(member))
    assert parts_of(agenda.settled) == [part for part in more if 4 <= part[0] >> 16 < 200]


@pytest.mark.parametrize("length", [0, 1, 5000])
def test_runs_of_a_log(length: int) -> None:
    rng = np.random.default_rng(length)
    size = 20 * 64
    value = rng.integers(0, 100, 3 * size).astype(np.uint8)
    depth = rng.integers(0, 3, 3 * size).astype(np.uint16)
    starts = np.array([100, 100 + size])
    changes = sorted(
        {(int(rank), int(node)) for rank, node in rng.integers([2, 0], [30, 2 * size], (length, 2))}
    )
    values, depths = rng.integers(0, 120, len(changes)), rng.integers(0, 3, len(changes))
    entries = [
        node << 32 | rank << 24 | int(code) << 16 | int(plies)
        for (rank, node), code, plies in zip(changes, values, depths, strict=True)
    ]
    log = Log(np.array(entries + [0] * 9, np.uint64), np.array([len(changes)]))
    mask, rank, run_value, run_depth, in_white = runs_of(log, size // 64, SweepResults(value, depth, starts))
    expected = []
    for number, (first, node) in enumerate(changes):
        found = int(values[number]), int(depths[number])
        fresh = int(value[starts[0] + node]), int(depth[starts[0] + node])
        expected.append((node, first, *((FRESH, 0) if found == fresh else found)))
    expected.sort()
    last = {row[0]: number for number, row in enumerate(expected)}
    ranks = [
        first + (LAST_RUN if last[node] == number else 0) for number, (node, first, *_) in enumerate(expected)
    ]
    assert rank.tolist() == ranks
    assert run_value.tolist() == [row[2] for row in expected]
    assert run_depth.tolist() == [row[3] for row in expected]
    assert in_white == sum(row[0] < size for row in expected)
    assert [has(mask.reshape(-1), node) for node in range(2 * size)] == [
        node in last for node in range(2 * size)
    ]
