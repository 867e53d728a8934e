"""Games played out with the tables: best play comes to what they promise, and no defence to more."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import chess
import pytest

from tbgen.board.material import all_materials
from tbgen.board.score import GScore
from tbgen.games.outcome import Basis
from tbgen.games.referee.adjudication import adjudicate
from tbgen.games.referee.arbiter import Arbiter
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tests.support.depths import known
from tests.support.exhaustive import sample
from tests.support.random_boards import starts

MATERIALS = all_materials(4)
OVER = (Basis.MATE, Basis.STALEMATE, Basis.REPETITION)
FURTHER = 60
"""Plies to play on once the accrued score is the value."""


@pytest.fixture(scope="module")
def tablebase(tables: Path) -> Iterator[Tablebase]:
    """All tables of up to four men."""
    with open_tablebase(tables) as tablebase:
        yield tablebase


def refereed(board: chess.Board, accrued: GScore | None) -> Arbiter:
    fen = board.fen() if accrued is None else f"{board.fen()} {accrued}"
    return Arbiter(fen, fifty_move_rule="none")


def best(tablebase: Tablebase, arbiter: Arbiter) -> chess.Move:
    return tablebase.moves(arbiter.board, arbiter.accrued)[0].move


def test_best_play_reaches_the_value_when_promised(tablebase: Tablebase) -> None:
    """The accrued score is V(P, A) after D(P, A) plies and not before.

    Later on a reset, or an improvement that is worth no more, may replace it, but not for good.
    """
    ends: Counter[Basis | None] = Counter()
    longest = replaced = 0
    for start, accrued in starts("best play", sample(150, 500), MATERIALS):
        promised = tablebase.probe(start, accrued)
        value, due = promised.value, known(promised.depth)
        depth = due
        arbiter, ply = refereed(start, accrued), 0
        assert arbiter.accrued == promised.accrued
        while arbiter.outcome is None and (due > 0 or ply < depth + FURTHER):
            verdict = adjudicate(arbiter, tablebase)
            assert (verdict.value, verdict.depth, verdict.basis) == (value, due, Basis.TABLEBASE), start.fen()
            assert (arbiter.accrued == value) == (due == 0), start.fen()
            arbiter.push(best(tablebase, arbiter))
            ply += 1
            if due > 0:
                due -= 1
            elif arbiter.accrued != value:
                due = known(tablebase.probe(arbiter.board, arbiter.accrued).depth)
                replaced += 1
        assert due == 0, start.fen()
        assert arbiter.accrued == value, start.fen()
        assert adjudicate(arbiter, tablebase).value == value, start.fen()
        assert arbiter.outcome is None or arbiter.outcome.value == value, start.fen()
        assert ply >= depth, start.fen()
        ends[arbiter.basis] += 1
        longest = max(longest, depth)
    assert min(ends[reason] for reason in OVER) > sample(3, 10), ends
    assert longest > sample(50, 60)
    assert replaced > 0


def test_no_defence_makes_it_better(tablebase: Tablebase) -> None:
    """One side plays at random, the other the best moves: what the game is worth only falls for the first."""
    rng = random.Random("moves")
    ends: Counter[Basis | None] = Counter()
    worse = 0
    for start, accrued in starts("defence", sample(80, 200), MATERIALS):
        arbiter, errs = refereed(start, accrued), rng.random() < 0.5
        first = value = tablebase.probe(start, accrued).value
        for _ in range(80):
            if arbiter.outcome is not None:
                break
            board = arbiter.board
            if board.turn is errs:
                arbiter.push(rng.choice(list(board.legal_moves)))
            else:
                arbiter.push(best(tablebase, arbiter))
            before, value = value, adjudicate(arbiter, tablebase).value
            assert value <= before if errs else value >= before, (start.fen(), accrued, errs)
        if arbiter.outcome is not None:
            assert arbiter.outcome.value == value
        ends[arbiter.basis] += 1
        worse += value != first
    assert min(ends[reason] for reason in (*OVER, None)) > sample(3, 10), ends
    assert worse > sample(40, 100)
