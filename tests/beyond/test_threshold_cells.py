"""Thresholds about cells as an exit source, compared with blocks and with games made at the same moment."""

import random
from collections.abc import Callable
from itertools import chain, product
from pathlib import Path

import chess
import numpy as np
import pytest

import tbgen
from tbgen.beyond.budget import Budget, Meter
from tbgen.beyond.cell_proof import WrongBoundError
from tbgen.beyond.cell_solver import CellSolver
from tbgen.beyond.choices import CellTask
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.layers import CellLayers
from tbgen.beyond.sampled_proofs import ThresholdProof
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.solver import solve
from tbgen.beyond.state_bounds import States
from tbgen.beyond.structures import cells_below
from tbgen.beyond.table_source import Tables
from tbgen.beyond.threshold_cells import ThresholdCells
from tbgen.board.score import NONE, Code, GScore
from tbgen.cells.bounds import (
    ENDS,
    LOWER,
    NO_RANK,
    WORST,
    BoundsGame,
    CallbackBoundsSource,
    pools_of_ends,
)
from tbgen.cells.cell import Cell, CellPosition, CellState, mobile_squares
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.games import Games
from tbgen.cells.interval import Interval
from tbgen.cells.kernels.threshold import FIRST_RANK
from tbgen.cells.packing import legal_slots
from tbgen.cells.routes import Route, routes_of
from tbgen.cells.threshold import (
    Threshold,
    ThresholdSolution,
    can_prove_thresholds,
    find_cell_ranks,
    proved_after,
)
from tbgen.index.layout import SIDES
from tbgen.moves.kernels.words import Words
from tests.support.exhaustive import exhaustive
from tests.support.exit_contract import check_source
from tests.support.solving import of_cells

pytestmark = pytest.mark.usefixtures("compiled")

CODES = [Code(code) for code in (0, 1, 3, 5, 8, 246, 249, 252, 254)]


def cells_of_random_board(rng: random.Random, known: ExitBounds) -> list[Cell]:
    """Return some small cells below a random cell in which men may be frozen, each after its homes or not."""
    men = "Kk" + rng.choice("QRBNqrbn") + rng.choice(("", *"QRBNqrbn"))
    men += "".join(rng.choice("Pp") for _ in range(rng.randint(4, 5) - len(men)))
    while True:
        board = chess.Board(None)
        for man, square in zip(men, rng.sample(chess.SQUARES, len(men)), strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(man))
        if not board.pawns & (chess.BB_RANK_1 | chess.BB_RANK_8) and board.is_valid():
            break
    pieces = list(mobile_squares(board))
    root = Cell.of_board(board, rng.sample(pieces, min(len(pieces), 3))).canonical()[0]
    below = list(cells_below(root, known.has_table_of, promotions=rng.random() < 0.5, limit=30))
    cells = [cell for cell in below if can_prove_thresholds(cell) and cell.size <= 64**3][-5:]
    return cells if rng.random() < 0.6 else cells[::-1]


def flags(proofs: Words | bool, size: int) -> np.ndarray:
    if isinstance(proofs, bool):
        return np.full(size, proofs)
    return np.unpackbits(proofs.view(np.uint8), axis=-1, bitorder="little").view(bool)[..., :size]


def check_threshold(known: ExitBounds, cell: Cell, threshold: Threshold, rng: random.Random) -> int:
    """Try a threshold, prove states, and compare it with the game of its end, and its exits with those of the
    game."""
    frame = frame_of_cell(cell)
    routes, end = list(routes_of(frame)), threshold.end
    for route in routes:
        implied = proved_after(route, threshold, known.block(route, end), known.bound(route, end))
        legal = legal_slots(route.subcell)[1 - route.side] if route.subcell.mobile else True
        found, expected = (
            flags(each, route.subcell.size) for each in (known.proofs(route, threshold), implied)
        )
        assert np.array_equal(found & legal, expected & legal), (route, threshold)
    (solution,) = known.threshold_cells.solve({cell: [threshold]}, known.proofs, with_rounds=True)
    assert ThresholdProof(cell, solution, known).prove_some(rng, 30) or not solution.proved.any()
    (pool,) = pools_of_ends(frame, routes, CallbackBoundsSource(known.block, known.bound), [end])
    game = BoundsGame(frame, pool)
    fresh, ranks = game.solve().value, game.ranks()
    assert np.array_equal(flags(solution.proved, cell.size), follows(fresh, threshold)), (cell, threshold)
    accrued = GScore(rng.randrange(2, 12), rng.random() < 0.5)
    layer = game.layer(game.solve(), accrued).value
    expected = follows(np.where(layer == NONE, fresh, layer), threshold)
    places = np.argwhere((ranks != NO_RANK) & (ranks >= accrued.rank)).tolist()
    for side, slot in rng.sample(places, min(len(places), 100)):
        assert solution.is_proved(SIDES[side], slot, accrued.code) == expected[side, slot]
    return int(solution.proved.any())


def follows(value: np.ndarray, threshold: Threshold) -> np.ndarray:
    good = value <= threshold.bound if threshold.end == LOWER else value >= threshold.bound
    return np.asarray((value != NONE) & good)


@pytest.mark.parametrize("seed", [*range(2), *exhaustive(range(2, 30))])
def test_exits_and_solutions_are_those_of_games(seed: int, small: Path) -> None:
    """Some cells are solved, some tried for thresholds, the rest unknown. What is unknown helps nobody."""
    rng, proved = random.Random(seed), 0
    with tbgen.open_tablebase(small) as tables:
        for _ in range(4):
            known = ExitBounds(Tables(tables), SolvedCells())
            threshold = Threshold(rng.choice(ENDS), rng.choice(CODES[:-1]))
            for cell in cells_of_random_board(rng, known):
                if rng.random() < 0.4:
                    known.cells.add(Games(cell, known).solve())
                for each in (threshold, threshold.swapped):
                    proved += check_threshold(known, cell, each, rng) if each.bound != WORST[each.end] else 0
    assert proved


WRONG: list[Callable[[ThresholdSolution, Words], ThresholdSolution]] = [
    lambda found, legal: found._replace(proved=legal),
    lambda found, legal: found._replace(joined=np.minimum(found.joined, FIRST_RANK)),
    lambda found, legal: found._replace(rounds=found.rounds * 0),
]
"""Too many positions, too early ranks, and no order."""


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("threshold", [Threshold(LOWER, Code(9)), Threshold(LOWER, Code(246))])
def test_wrong_thresholds_are_not_proved(
    threshold: Threshold, wrong: Callable[[ThresholdSolution, Words], ThresholdSolution], small: Path
) -> None:
    """The prover holds the first threshold, and the opponent the second."""
    board = chess.Board("8/8/8/4k3/7p/8/1P6/1K1R4 w - - 0 1")
    cell = Cell.of_board(board, mobile_squares(board)).canonical()[0]
    legal = find_cell_ranks(frame_of_cell(cell)).legal
    with tbgen.open_tablebase(small) as tables:
        known = ExitBounds(Tables(tables), SolvedCells())
        (found,) = known.threshold_cells.solve({cell: [threshold]}, known.proofs, with_rounds=True)
        assert ThresholdProof(cell, found, known).prove_some(random.Random(0)) > 0
        with pytest.raises(WrongBoundError, match=r"the lower bound -?G4\.5 is not proved"):
            ThresholdProof(cell, wrong(found, legal), known).prove_some(random.Random(0))


def test_blocks_and_single_positions_say_the_same(small: Path) -> None:
    """From all four sides, with thresholds at both ends, some of which imply others."""
    board = chess.Board("8/8/8/4k3/7p/8/1P6/1K1R4 w - - 0 1")
    cell = Cell.of_board(board, mobile_squares(board)).canonical()[0]
    with tbgen.open_tablebase(small) as tables:
        known = ExitBounds(Tables(tables), SolvedCells())
        thresholds = [
            Threshold(LOWER, Code(5)),
            Threshold(LOWER, Code(246)),
            Threshold(1, Code(1)),
            Threshold(1, Code(7)),
        ]
        known.threshold_cells.solve({cell: thresholds}, known.proofs, threads=2)
        assert known.threshold_cells.thresholds(cell) == set(thresholds)
        assert check_source(known.threshold_cells, [Route(SIDES[0], 0, cell)], 89, None)[0] > 0


def test_cells_side_by_side(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads change no answer; cells join if none depends on another and all are asked for thresholds."""
    monkeypatch.setattr("tbgen.cells.frames.MIN_THREADED_SLOTS", 0)
    monkeypatch.setattr("tbgen.beyond.ledger._MIN_THRESHOLD_SLOTS", 0)
    fens = (
        "8/8/7p/4k3/1p6/8/8/1K1R4 w - - 0 1",
        "8/8/8/1p2k2p/8/8/8/1K1R4 w - - 0 1",
        "8/8/8/4k3/1p5p/8/8/1K1R4 w - - 0 1",
    )
    cells = [Cell.of_board(board, mobile_squares(board)).canonical()[0] for board in map(chess.Board, fens)]
    asked = {cell: [Threshold(LOWER, Code(5)), Threshold(1, Code(7))] for cell in cells[:2]}
    with tbgen.open_tablebase(small) as tables:
        known = ExitBounds(Tables(tables), SolvedCells())
        alone = [known.threshold_cells.solve({cell: asked[cell]}, known.proofs) for cell in asked]
        for threads in (3, 8):
            together = known.threshold_cells.solve(asked, known.proofs, threads)
            for one, other in zip(together, chain(*alone), strict=True):
                assert np.array_equal(one.proved, other.proved)
                assert np.array_equal(one.joined, other.joined)
        root = chess.Board("8/8/7p/1p2k3/8/8/8/1K1R4 w - - 0 1")
        root_cell = Cell.of_board(root, mobile_squares(root)).canonical()[0]
        solver = CellSolver(known, root_cell, Meter(Budget()))
        first, second, below = map(CellTask, cells)
        assert not solver.may_join(second, [first])
        solver.ledger.set_question(Interval(Code(6), Code(5)))
        assert solver.may_join(second, [first])
        assert not any(solver.may_join(each, [first]) for each in (first, below))
        assert not solver.may_join(second, [first] * 8)


def test_only_what_may_prove_more_is_tried_again(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A solution two moves below may prove more, because exits are looked one ply ahead."""
    monkeypatch.setattr("tbgen.beyond.ledger._MIN_THRESHOLD_SLOTS", 0)
    fens = ("8/8/8/1p2k2p/8/8/8/1K1R4 w - - 0 1", "8/8/8/4k3/1p5p/8/8/1K1R4 w - - 0 1")
    cell, below = (
        Cell.of_board(board, mobile_squares(board)).canonical()[0] for board in map(chess.Board, fens)
    )
    with tbgen.open_tablebase(small) as tables:
        ledger = CellSolver(ExitBounds(Tables(tables), SolvedCells()), cell, Meter(Budget())).ledger
        ledger.set_question(Interval(Code(6), Code(5)))
        lower, upper = ledger.thresholds(cell)
        assert ledger.is_due(cell, lower)
        ledger.add_thresholds(cell, [lower, upper])
        assert not ledger.is_due(cell, lower)
        ledger.add_thresholds(below, [lower])
        assert ledger.is_due(cell, lower)
        assert not ledger.is_due(cell, upper)


def test_nothing_is_proved_after_quiet_moves(small: Path) -> None:
    """A frozen piece leaves the cell by a quiet move, after which the accrued score still counts."""
    board = chess.Board("8/8/8/4k3/8/8/4Q3/1K1R4 w - - 0 1")
    cell = Cell.of_board(board, {chess.B1, chess.E5, chess.D1})
    threshold = Threshold(LOWER, Code(9))
    with tbgen.open_tablebase(small) as tables:
        known = ExitBounds(Tables(tables), SolvedCells())
        for route in routes_of(frame_of_cell(cell)):
            if route.is_quiet:
                known.threshold_cells.solve({route.destination.canonical()[0]: [threshold]}, known.proofs)
                assert known.proofs(route, threshold) is False


def test_ranks_are_found_again(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """States with an accrued score have the same bounds after the ranks of the solutions have been dropped. A
    guess takes the accrued score for the value instead."""
    board = chess.Board("8/8/8/4k3/7p/8/1P6/1K1R4 w - - 5 9")
    position = CellPosition(board, board.occupied & ~board.pawns)
    cell, symmetry = position.cell.canonical()
    position = position.image(symmetry)
    with tbgen.open_tablebase(small) as tables:
        known = ExitBounds(Tables(tables), SolvedCells())
        layers = CellLayers(known, Meter(Budget()), cell, None)
        states = States(known, layers), States(known, layers, guess=True)
        monkeypatch.setattr("tbgen.beyond.state_bounds._MIN_GUESSED_SLOTS", 0)
        thresholds = [Threshold(end, code) for end, code in product(ENDS, CODES) if code != WORST[end]]
        known.threshold_cells.solve({cell: thresholds}, known.proofs)
        kept = known.threshold_cells.solution(cell, thresholds[0]).joined
        assert kept.size == 0, "a view of no ranks keeps the memory of all"
        assert kept.base is None
        for code in (Code(4), Code(11), Code(250), Code(240)):
            before = states[0].look_up(CellState(position, code)).bounds
            known.forget()
            guess = states[1].look_up(CellState(position, code)).bounds
            assert guess.lower >= code >= guess.upper or guess == before
            assert states[0].look_up(CellState(position, code)).bounds == before
        known.forget()
        hurried = States(known, CellLayers(known, Meter(Budget(seconds=0)), cell, None))
        bounds = hurried.look_up(CellState(position, Code(4))).bounds
        assert not any(known.threshold_cells.ranked(cell, threshold) for threshold in thresholds)
        assert bounds.covers(states[0].look_up(CellState(position, Code(4))).bounds)


def test_solving_asks_thresholds(small: Path, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of small cells, too: answers agree with tables and are proved. A solution counts as 1/8 of a cell."""
    tried: list[ThresholdSolution] = []
    right = ThresholdCells.add

    def add(source: ThresholdCells, cell: Cell, solution: ThresholdSolution) -> None:
        tried.append(solution)
        right(source, cell, solution)

    monkeypatch.setattr(ThresholdCells, "add", add)
    monkeypatch.setattr("tbgen.beyond.ledger._MIN_THRESHOLD_SLOTS", 64**2)
    with tbgen.open_tablebase(tables) as full:
        for fen, accrued in (
            ("8/6R1/8/8/6k1/7p/8/3K4 b - - 3 1", "G4.0"),
            ("8/8/1p6/8/8/1N6/K7/7k w - - 3 1", "G3.0"),
        ):
            found = solve(fen, accrued, tables=small, budget=of_cells(12), verify=True)
            assert found.lower == full.probe(fen, accrued).value == found.upper
            assert found.proof is not None
            assert found.proof.sampled > 0
    assert {solution.threshold.end for solution in tried} == {*ENDS}
