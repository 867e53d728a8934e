"""Games played out with the tables: best play comes to what they promise."""

from collections import Counter
from pathlib import Path

from tbgen.board.material import all_materials
from tbgen.games.outcome import Basis
from tbgen.games.referee import Arbiter, adjudicate
from tbgen.probe.tablebase import open_tablebase
from tests.support.depths import known
from tests.support.exhaustive import sample
from tests.support.random_boards import starts

MATERIALS = all_materials(4)
OVER = (Basis.MATE, Basis.STALEMATE, Basis.REPETITION)
FURTHER = 60
"""Plies to play on once the accrued score is the value."""


def test_best_play_reaches_the_value_when_promised(tables: Path) -> None:
    """The accrued score is V(P, A) after D(P, A) plies and not before.

    Later on a reset, or an improvement that is worth no more, may replace it, but not for good.
    """
    ends: Counter[Basis | None] = Counter()
    longest = replaced = 0
    with open_tablebase(tables) as tablebase:
        for start, accrued in starts("best play", sample(20, 500), MATERIALS):
            promised = tablebase.probe(start, accrued)
            value, due = promised.value, known(promised.depth)
            depth = due
            fen = start.fen() if accrued is None else f"{start.fen()} {accrued}"
            arbiter, ply = Arbiter(fen, fifty_move_rule="none"), 0
            assert arbiter.accrued == promised.accrued
            while arbiter.outcome is None and (due > 0 or ply < depth + FURTHER):
                verdict = adjudicate(arbiter, tablebase)
                assert (verdict.value, verdict.depth, verdict.basis) == (value, due, Basis.TABLEBASE), (
                    start.fen()
                )
                assert (arbiter.accrued == value) == (due == 0), start.fen()
                arbiter.push(tablebase.moves(arbiter.board, arbiter.accrued)[0].move)
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
    assert min(ends[reason] for reason in OVER) > sample(0, 10), ends
    assert longest > sample(25, 60)
    assert replaced > sample(-1, 0)
