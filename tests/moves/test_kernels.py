"""The solver's kernels against slow equivalents: single squares, single positions of python-chess."""

import random
from pathlib import Path

import chess
import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.compiler.jit import python_of
from tbgen.index.layout import SIDES, Layout, layout_of
from tbgen.index.table import Source, Table
from tbgen.moves.frames import (
    expand,
    frame_of,
    like_men_of,
    mirrors_itself,
    place_pawns,
    table_slots,
    to_solver_order,
    to_table_order,
)
from tbgen.moves.kernels.canonical import mark_canonical
from tbgen.moves.kernels.frame import mark_legal
from tbgen.moves.kernels.phases import prepare_words
from tbgen.moves.pool import PoolLoader
from tbgen.moves.structs import NO_EXIT, make_men
from tbgen.probe.tablebase import Tablebase
from tbgen.retro.kernels.events import (
    NO_NODE,
    Agenda,
    Events,
    Goals,
    events_of,
    next_agenda,
    next_node,
    no_events,
)
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.workspace import make_workspace, moves_of
from tbgen.store.format import table_path
from tbgen.store.schema import slots_in
from tbgen.tables.files import open_table
from tests.support.exhaustive import exhaustive, sample
from tests.support.one_ply import by_probing
from tests.support.slots import board_at
from tests.support.table_states import canonical_slots, squares_of

# What only kernels may call, called by kernels


# Slots


@pytest.mark.parametrize("name", ["KvK", "KNNvK", "KBPvK", "KPPvK", "KPvKP", "KNNNvK", "KRRvKR"])
def test_canonical_words(name: str) -> None:
    layout = layout_of(Material.parse(name))
    rng = random.Random(name)
    frame = frame_of(layout)
    for phase in rng.sample(range(len(layout.placements)), min(20, len(layout.placements))):
        found = np.zeros(frame.words, np.uint64)
        like, symmetric = like_men_of(layout), mirrors_itself(layout, phase)
        start = rng.randrange(max(1, frame.words - 500))
        stop = min(start + 500, frame.words)
        mark_canonical(frame, like, symmetric, found, start, stop)
        chosen = [rng.randrange(64 * start, 64 * stop) for _ in range(2000)]
        slots = np.array(chosen, np.int64) + phase * layout.phase_size
        expected = canonical_slots(layout, *squares_of(layout, slots)) == slots
        assert [int(found[slot >> 6]) >> (slot & 63) & 1 for slot in chosen] == expected.tolist()


@pytest.mark.parametrize("name", ["KQQvKQ", "KBBBvK"])
def test_like_scalars_are_solved_in_order(name: str) -> None:
    """Of two words that differ in the order of like scalars, one contains all legal positions."""
    frame, rng, solved = frame_of(layout_of(Material.parse(name))), random.Random(name), 0
    legal = np.zeros((2, frame.words), np.uint64)
    for _ in range(200):
        word = rng.randrange(frame.words)
        one, other = word >> 6 & 63, word & 63
        swapped = word + (other - one) * 64 + one - other
        for each in (word, swapped):
            mark_legal(frame, legal, make_men(), each, each + 1)
        later, earlier = (word, swapped) if one > other else (swapped, word)
        assert not legal[:, later].any() or later == earlier
        solved += legal[:, earlier].any()
    assert solved > 50


def test_expand() -> None:
    for name in ("KNvK", "KNNvK", "KPvK", "KPPvK"):
        layout = layout_of(Material.parse(name))
        rng = np.random.default_rng(1)
        value = rng.integers(0, 256, (2, layout.size), np.uint8)
        depth = rng.integers(0, 999, (2, layout.size), np.uint16)
        expanded = value.copy(), depth.copy()
        expand_all(layout, *expanded)
        slots = rng.integers(0, layout.size, 20_000)
        canonical = canonical_slots(layout, *squares_of(layout, slots))
        assert np.array_equal(expanded[0][:, slots], value[:, canonical]), name
        assert np.array_equal(expanded[1][:, slots], depth[:, canonical]), name


@pytest.mark.parametrize("name", ["KvK", "KBvK", "KNvKN", "KPvK"])
def test_a_solver_has_the_canonical_slots(name: str) -> None:
    layout = layout_of(Material.parse(name))
    slots = np.arange(layout.slots_to_solve)
    in_table = np.full(layout.phase_size, -1)
    in_table[: len(slots)] = slots
    to_table_order(layout, in_table, -1)
    assert np.array_equal(in_table[table_slots(layout, slots)], slots)
    frame, like = frame_of(layout), like_men_of(layout)
    legal, canonical = np.zeros((2, frame.words), np.uint64), np.zeros(frame.words, np.uint64)
    place_pawns(frame, layout, 0)
    mark_legal(frame, legal, make_men(), 0, frame.words)
    mark_canonical(frame, like, mirrors_itself(layout, 0), canonical, 0, frame.words)
    assert (in_table[slots_in((legal[0] | legal[1]) & canonical)] >= 0).all()
    to_solver_order(layout, in_table)
    assert np.array_equal(in_table[: len(slots)], slots)


# Moves


def has(sets: np.ndarray, slot: int) -> bool:
    return bool(int(sets[slot >> 6]) >> (slot & 63) & 1)


def rank_at(slices: np.ndarray, slot: int) -> int:
    """Of each word of positions, there is a word of every bit of the rank."""
    return sum(has(slices[:, number], slot) << number for number in range(slices.shape[1]))


def phase_of(layout: Layout, phase: int) -> Workspace:
    """A workspace with the legal positions of a phase."""
    workspace = make_workspace(layout, Variant.R_MOBILITY)
    place_pawns(workspace.frame, layout, phase)
    mark_legal(workspace.frame, workspace.phase.legal, make_men(), 0, workspace.frame.words)
    return workspace


def around_and_own(layout: Layout, tables: Path) -> tuple[PoolLoader, Table]:
    """The pool of a table, and the table."""
    sources: dict[Material, Source] = {}
    for material in [*layout.material.successors(), layout.material]:
        with open_table(table_path(tables, material.name, Variant.R_MOBILITY)) as file:
            table = file.read()
        sources[material] = table
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


@pytest.mark.parametrize("name", ["KBvKB", "KBPvK", "KPvKP", *exhaustive(["KNNvK", "KPPvK", "KQvKP"])])
def test_legality_ranks_and_exits(name: str, tables: Path, tablebase: Tablebase) -> None:
    layout = layout_of(Material.parse(name))
    rng = random.Random(name)
    loader, table = around_and_own(layout, tables)
    look_up = by_probing(tablebase)
    legal = 0
    for phase in rng.sample(range(len(layout.placements)), min(8, len(layout.placements))):
        workspace = phase_of(layout, phase)
        loader.load_blocks([phase])
        put_own(loader, layout, table, phase)
        prepare_words(
            moves_of(workspace),
            loader.pool,
            mirrors_itself(layout, phase),
            make_men(),
            0,
            workspace.frame.words,
        )
        for _ in range(sample(320, 480) // min(8, len(layout.placements))):
            slot, side = rng.randrange(64 * workspace.frame.words), rng.randrange(2)
            (table_slot,) = table_slots(layout, np.array([slot]))
            board = board_at(layout, side, phase * layout.phase_size + int(table_slot))
            possible = board is not None and not board.was_into_check()
            assert has(workspace.phase.legal[side], slot) == possible
            if board is None or not possible:
                continue
            legal += 1
            moves = list(board.legal_moves)
            rank = 2 * len(moves) + (not board.is_check())
            assert rank_at(workspace.phase.rank_bits[side], slot) == rank, board.fen()
            quiet = sum(not board.is_zeroing(move) for move in moves)
            assert workspace.phase.quiet_counts[side, slot] == quiet, board.fen()
            reached = []
            for move in moves:
                if board.is_zeroing(move):
                    after = board.copy()
                    after.push(move)
                    reached.append(look_up(after, None))
            check_exit(workspace, side * 64 * workspace.frame.words + slot, reached, board)
    assert legal > 100


def check_exit(
    workspace: Workspace, node: int, reached: list[tuple[GScore, int]], board: chess.Board
) -> None:
    """The best zeroing move of a position is in place, with the depths of all that are as good."""
    if not reached:
        assert workspace.exits.min_depth[node] == NO_EXIT
        return
    value = (max if board.turn else min)(value for value, _ in reached)
    depths = [depth for other, depth in reached if other == value]
    found = workspace.exits.value[node], workspace.exits.min_depth[node], workspace.exits.max_depth[node]
    assert found == (value.code, min(depths), max(depths)), board.fen()


def packed(member: np.ndarray) -> np.ndarray:
    return np.packbits(member, bitorder="little").view(np.uint64)


# Events and runs


WORDS = 1000


def some_events(number: int, seed: int) -> tuple[Events, list[list[int]]]:
    """Events of some positions, and [level, node] of each, in order."""
    rng = np.random.default_rng(seed)
    node = rng.permutation(2 * 64 * WORDS)[:number]
    level = rng.choice([3, 7, 130, 250, 254, *range(20, 90)], number) << 16
    level += rng.choice([1, 2, 255, 256, 999], number)
    value, depth = np.zeros(2 * 64 * WORDS, np.uint8), np.zeros(2 * 64 * WORDS, np.uint16)
    value[node], depth[node] = level >> 16, level & 0xFFFF
    goals = Goals(value, (depth, depth), np.array([0, 64 * WORDS]), 0)
    events = events_of(0, packed(value > 0).reshape(2, -1), goals, 256)
    return events, np.stack([level, node], axis=1)[np.lexsort([node, level])].tolist()


def parts_of(events: Events) -> list[list[int]]:
    """[level, node] of all events, which come by level."""
    assert (np.diff(events.level) > 0).all()
    assert (np.diff(events.start) > 0).all()
    parts = []
    for level, start, stop in zip(events.level.tolist(), events.start, events.start[1:], strict=False):
        node, at = python_of(next_node)(events.gaps, start, stop, 0)
        while node < NO_NODE:
            parts.append([level, int(node)])
            node, at = python_of(next_node)(events.gaps, at, stop, node)
    return parts


@pytest.mark.parametrize(("first", "last"), [(0, 256), (7, 200), (90, 91)])
def test_events_are_merged(first: int, last: int) -> None:
    (one, parts), (other, more) = some_events(5000, 0), some_events(700, 1)
    assert parts_of(one) == parts
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
    assert agenda.alive_count_at_purge == (member.sum() if share < 7 / 8 else len(member))
    assert parts_of(agenda.settled) == [part for part in more if 4 <= part[0] >> 16 < 200]
