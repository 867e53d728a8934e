"""Inner sweeps carried on from the layer before, in lockstep with inner sweeps made anew."""

from dataclasses import dataclass, field, replace

import chess
import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cells.cell import Cell, mobile_squares
from tbgen.cells.frames import frame_of_cell
from tbgen.compiler.jit import int64, python_of
from tbgen.index.layout import Layout, layout_of
from tbgen.index.zeroing import phases_after_pawn_steps
from tbgen.moves.frames import mirrors_itself, place_pawns
from tbgen.moves.pool import PoolLoader
from tbgen.moves.structs import Pool
from tbgen.retro.kernels.layer_sweeps import (
    FIRST_LAYER,
    Workspace,
    initialize_inner_sets,
    inner_sweep,
    outer_sweep,
    retire,
    settle,
)
from tbgen.retro.kernels.phase import (
    RUNS,
    empty_record,
    first_events,
    later_events,
    record_inner_sweep,
)
from tbgen.retro.kernels.sweep import NO_LIMIT, Attacker, Sweep, begin_sweep, run_levels
from tbgen.retro.kernels.update import Layer, update, update_limits
from tbgen.retro.ranks import find_moves
from tbgen.retro.workspace import make_departures, make_function_numbers, make_workspace, workspace_of
from tests.support.made_up_tables import as_sources, made_up


def take(sweep: Sweep, low: int) -> int:
    """Take all levels of a sweep; return the last key."""
    return run_levels(sweep, begin_sweep(sweep, low), int64(0), NO_LIMIT).last_key


@dataclass
class Solver:
    """A phase being solved layer by layer."""

    layout: Layout
    phase: int
    pool: Pool
    workspace: Workspace = field(init=False)
    rank: int = 0

    def __post_init__(self) -> None:
        workspace = make_workspace(self.layout, Variant.R_MOBILITY, 1, self.pool)
        # An update without limits must not lack the last levels of any position.
        white, black = (
            replace(attacker, departures=make_departures(1, self.layout.phase_size))
            for attacker in workspace.attackers
        )
        self.workspace = workspace = replace(workspace, attackers=(white, black))
        place_pawns(workspace.frame, self.layout, self.phase)
        find_moves(workspace, self.pool, mirrors_itself(self.layout, self.phase))
        self.events = [first_events(workspace, attacker, int64(1)) for attacker in (0, 1)]
        none = make_function_numbers(0)
        self.record = empty_record(0, workspace.frame.words, RUNS, none, 0)

    def enter(self) -> bool:
        """Sweep from outside into the next layer; returns whether there is one."""
        for attacker in (0, 1):
            given = self.attacker(attacker), self.rank, self.events[attacker], self.workspace.fresh
            take(python_of(outer_sweep)(*given), self.rank - 1)
        return bool(retire(self.workspace, 0, self.workspace.frame.words))

    def leave(self) -> None:
        """Settle the rank of the layer."""
        settle(self.workspace, self.rank, 0, self.workspace.frame.words)
        for attacker in (0, 1):
            self.events[attacker] = later_events(self.workspace, attacker, self.rank, self.events[attacker])
        self.rank += 1

    def attacker(self, number: int) -> Attacker:
        return self.workspace.attackers[number]

    def update(self, attacker: int, room: int, steps: int) -> int:
        layer = Layer(self.attacker(attacker), self.pool, self.workspace.fresh, 255 - self.rank)
        return int(update(layer, self.rank, room, steps))

    def sweep(self, number: int) -> None:
        attacker = self.attacker(number)
        initialize_inner_sets(attacker)
        sweep = python_of(inner_sweep)(attacker, 255 - self.rank, self.events[number])
        attacker.last_key[0] = take(sweep, self.rank)

    def logged(self, attacker: int, updated: int) -> list[int]:
        """The changes of all layers so far; ``updated`` is what the update of this one has returned."""
        self.record = record_inner_sweep(self.attacker(attacker), self.rank, updated, self.record)
        log = self.record.logs[attacker]
        return log.entry[: log.length[0]].tolist()  # type: ignore[no-any-return]

    def layer(self, number: int) -> np.ndarray:
        """Values and depths of the positions that are alive and assigned; elsewhere -1."""
        attacker, phase = self.attacker(number), self.workspace.phase
        assigned = np.empty_like(phase.legal)
        assigned[number] = phase.legal[number] & ~attacker.inner_sets.wanted
        assigned[1 - number] = attacker.inner_sets.assigned
        there = np.unpackbits((assigned & phase.alive).view(np.uint8), bitorder="little").astype(bool)
        slots = attacker.results.starts[:, None] + np.arange(self.workspace.frame.words * 64)
        results = [array[slots].reshape(-1) for array in attacker.results[:2]]
        return np.where(there, np.array(results, np.int64), -1)


def solvers(name: str, phase: int) -> list[Solver]:
    """Two solvers of one phase, made-up values all around."""
    material = Material.parse(name)
    layout = layout_of(material)
    around = {
        sub: made_up(layout_of(sub), number) for number, sub in enumerate(sorted(material.successors()))
    }
    own = made_up(layout, 99)
    both = []
    for _ in range(2):
        loader = PoolLoader(layout, as_sources(around))
        loader.load_blocks([phase])
        pool = loader.pool
        pairs: list[tuple[np.ndarray, np.ndarray]] = [(pool.value, own[0]), (pool.depth, own[1])]
        for array, filled in pairs:
            halves = array[: 2 * layout.size].reshape(2, -1)
            for reached in phases_after_pawn_steps(layout, phase):
                part = slice(reached * layout.phase_size, (reached + 1) * layout.phase_size)
                halves[:, part] = filled[:, part]
        both.append(Solver(layout, phase, pool))
    return both


@dataclass
class Seen:
    """What the updates of a phase came to."""

    nothing: int = 0
    carried_on: int = 0
    refused: int = 0
    taken_back: int = 0


def in_lockstep(name: str, phase: int, room: int | None = None, steps: int | None = None) -> Seen:
    """Compare all layers of a phase; limits that are not given are the real ones."""
    one, other = solvers(name, phase)
    seen = Seen()
    while one.enter():
        assert other.enter()
        for attacker in (0, 1) if one.rank >= FIRST_LAYER else ():
            real = update_limits(one.workspace.phase)
            before = one.layer(attacker)
            result = one.update(
                attacker, real[0] if room is None else room, real[1] if steps is None else steps
            )
            if result < 0:
                assert np.array_equal(before, one.layer(attacker))  # nothing has happened
                one.sweep(attacker)
            other.sweep(attacker)
            seen.nothing += result == 0
            seen.carried_on += result > 0
            seen.refused += result < 0 and one.rank > FIRST_LAYER
            seen.taken_back += result < -1
            where = f"attacker {attacker}, rank {one.rank}"
            assert np.array_equal(one.layer(attacker), other.layer(attacker)), where
            assert one.logged(attacker, result) == other.logged(attacker, -1), where
        one.leave()
        other.leave()
    assert not other.enter()
    legal = np.unpackbits(one.workspace.phase.legal.view(np.uint8), bitorder="little").astype(bool)
    for array, again in zip(one.workspace.fresh[:2], other.workspace.fresh[:2], strict=True):
        assert np.array_equal(array[: len(legal)][legal], again[: len(legal)][legal])
    return seen


@pytest.mark.exhaustive  # their compiling takes long; the tables of all daily tests are solved by them
@pytest.mark.parametrize(
    ("name", "phase"), [("KQvK", 0), ("KNvK", 0), ("KPvK", 3), ("KPvK", 15), ("KPvK", 20)]
)
def test_updates_give_what_new_sweeps_give(name: str, phase: int) -> None:
    """With the real limits, without any, with so few steps that updates are given up halfway and taken back,
    and with hardly any room."""
    seen = in_lockstep(name, phase)
    assert seen.carried_on > 5
    unlimited = in_lockstep(name, phase, 10**6, 10**9)
    assert unlimited.carried_on > 5
    assert not unlimited.refused
    short = in_lockstep(name, phase, 3000, 5)
    assert short.carried_on > 5
    assert short.taken_back > 0 or name == "KQvK"  # there are few layers, and little changes
    cramped = in_lockstep(name, phase, 3, 10)
    assert cramped.carried_on > 5
    assert cramped.refused > 0


def test_each_part_of_a_sweep_counts_its_departures() -> None:
    board = chess.Board("8/8/8/8/7q/k1p5/2P5/K6Q w - - 0 1")
    frame = frame_of_cell(Cell.of_board(board, mobile_squares(board))).frame
    for attacker in workspace_of(frame, True, np.zeros((0, 2), np.int64), 5).attackers:
        assert len(attacker.departures.count) == len(attacker.scratch.front_sizes) == 5
