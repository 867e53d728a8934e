"""Thresholds of cells are tried for the current question."""

import random
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import chess
import pytest

import tbgen
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.ledger import Ledger, _place_of_share
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.solver import solve
from tbgen.beyond.structures import possible_colour_swaps
from tbgen.beyond.table_source import Tables
from tbgen.board.material import Material
from tbgen.board.score import Code, rank_of_code
from tbgen.board.scoring import ScoreInterval
from tbgen.cells.cell import Cell
from tbgen.cells.interval import ALL_SCORES, Interval
from tbgen.cells.threshold import Threshold
from tbgen.index.layout import MIRROR_RANKS
from tbgen.progress import SolveStage
from tests.beyond.test_solver import DEARER, MATERIALS, check, score
from tests.support.exhaustive import exhaustive, sample
from tests.support.random_boards import random_board
from tests.support.solving import of_cells

RACE = "8/8/8/8/3K3p/8/1P1k4/8 w - - 0 1"


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> set[Threshold]:
    """The thresholds that are tried, also of small cells."""
    thresholds: set[Threshold] = set()
    add = Ledger.add_thresholds

    def noted(ledger: Ledger, cell: Cell, these: Iterable[Threshold]) -> None:
        thresholds.update(these)
        add(ledger, cell, these)

    monkeypatch.setattr(Ledger, "add_thresholds", noted)
    for name in (
        "ledger._MIN_THRESHOLD_SLOTS",
        "search.MAX_SMALL_SLOTS",
        "cell_solver.MAX_SMALL_SLOTS",
        "cell_solver._MAX_SLOTS_BELOW",
    ):
        monkeypatch.setattr(f"tbgen.beyond.{name}", 0)
    return thresholds


@pytest.mark.parametrize("material", [*MATERIALS[1:3], *exhaustive(["KPPvK", *MATERIALS[3:], *DEARER])])
def test_intervals_contain_what_tables_say(
    material: str, tables: Path, small: Path, tried: set[Threshold]
) -> None:
    rng = random.Random(material + "!")
    with tbgen.open_tablebase(tables) as full:
        for _ in range(sample(1, 4)):
            board, accrued = random_board(rng, Material.parse(material)), score(rng)
            check(full, board, accrued, solve(board, accrued, tables=small, budget=of_cells(sample(15, 40))))
    assert tried


@pytest.mark.parametrize(
    ("fen", "accrued"),
    [
        ("8/8/6p1/8/4k3/8/5P1K/6N1 w - - 9 50", "-G3.5"),
        *exhaustive([("8/8/1K6/4p3/8/3k4/3P4/8 w - - 9 50", "-G4.0")]),
    ],
)
def test_intervals_only_narrow(fen: str, accrued: str, tmp_path: Path, tried: set[Threshold]) -> None:
    known: list[ScoreInterval] = []

    def note(stage: SolveStage) -> None:
        known.append(ScoreInterval(stage.lower, stage.upper))

    solve(fen, accrued, tables=tmp_path, budget=of_cells(sample(20, 60)), progress=note)
    assert len(known) > 5
    for before, after in pairwise(known):
        assert before.lower <= after.lower <= after.upper <= before.upper
    assert len(tried) > 3


def test_a_proof_has_all_values(small: Path, tried: set[Threshold]) -> None:
    assert solve(RACE, "G9.0", tables=small, budget=of_cells(sample(8, 30)), verify=True).proof is not None
    assert not tried


@pytest.mark.parametrize(
    "fen", [RACE, "8/2p1k3/8/1P1p4/4P3/8/3K2p1/R6r w - - 0 1", "4k3/3p4/8/8/8/8/3P4/4K2B b - - 0 1"]
)
def test_colours_of_cells_below(fen: str) -> None:
    """Wherever play leads, the colours of the canonical cell are swapped as predicted."""
    rng = random.Random(fen)
    root = cell_of(chess.Board(fen))
    for _ in range(60):
        board = chess.Board(fen)
        while not board.is_game_over() and board.fullmove_number < 60:
            moves = list(board.legal_moves)
            board.push(rng.choice([move for move in moves if board.is_zeroing(move)] or moves))
            home, symmetry = cell_of(board).canonical()
            assert bool(symmetry & MIRROR_RANKS) in possible_colour_swaps(root, home)


def test_questions_take_turns(small: Path) -> None:
    """They divide the likely values. Those without cells to solve come last, and are asked twice."""
    interval = Interval(Code(255), Code(24))
    with tbgen.open_tablebase(small) as opened:
        known = ExitBounds(Tables(opened), SolvedCells())
        ledger = Ledger(known, cell_of(chess.Board(RACE)))
        first = [next(ledger.questions(interval, Code(23))) for _ in range(13)]
        assert [len(set(first[start : start + 4])) for start in (0, 4, 8)] == [1, 1, 1]
        assert len(set(first)) == 3
        assert first[0] == first[12]
        questions = ledger.questions(interval, Code(23))
        assert next(questions) == first[0]
        assert next(questions) != first[0]
        assert next(ledger.questions(interval, Code(23))) != first[0]
        remaining = list(ledger.questions(interval, Code(23)))
        assert Counter(remaining) == {first[0]: 1, first[4]: 2, first[8]: 2}
        assert all(len(each.codes()) == 2 and interval.covers(each) for each in remaining)
        assert list(ledger.questions(interval, Code(23))) == []
        ledger.retry_questions()
        assert next(ledger.questions(interval, Code(23))) in remaining


@pytest.mark.parametrize("share", [1 / 4, 1 / 2, 3 / 4])
def test_likely_values_are_divided(share: float) -> None:
    """Equally likely ones by number; scores of great ranks count little; both parts have a score."""
    assert _place_of_share(list(map(Code, range(8, 0, -1))), share) == 8 * share
    codes = ALL_SCORES.codes()
    assert rank_of_code(codes[_place_of_share(codes[:127], share)]) < 16
    assert [_place_of_share(codes[:2], each) for each in (0, share, 1)] == [1, 1, 1]


def cell_of(board: chess.Board) -> Cell:
    return Cell.of_board(board, chess.SquareSet(board.occupied & ~board.pawns))


def test_one_colour_is_enough_mostly() -> None:
    """If the men determine how the cell lies below, no other scores have to be distinguished."""
    root = cell_of(chess.Board("8/8/8/8/pr1k4/2R2P2/2K5/8 b - - 0 75"))
    below = cell_of(chess.Board("8/8/8/5P2/1r1k4/p1R5/2K5/8 b - - 0 75"))
    assert possible_colour_swaps(root, below) == {False}
    assert possible_colour_swaps(root, below.image(MIRROR_RANKS)) == {True}
    assert possible_colour_swaps(below, root) == set()
