"""Games that stopped in positions without a table, which a solver proves; a stub replaces cells."""

from pathlib import Path

import pytest

from tbgen.beyond.jobs import Solver
from tbgen.board.fen import parse_fen
from tbgen.board.scoring import Scheme
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, UnprovenError
from tbgen.games.game_options import GameOptions
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.pgn.ending import Ending
from tbgen.games.referee import Arbiter, adjudicate
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tests.support.solving import CASTLING, LOCKED, Prover, proved

ROOK = "8/8/8/4KRk1/8/8/8/8 b - - 1 1"
"""A table can hold it, and is not there; its own score is G4.0."""
BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


def judged(
    tables: Tablebase,
    answer: str,
    fen: str = f"{LOCKED} G4.5",
    *,
    scheme: Scheme = Scheme.EXPONENTIAL,
    depth: int | None = None,
    require_tables: bool = False,
    require_proof: bool = False,
) -> Outcome:
    """Return the outcome of a stopped game, for proved bounds of its final position; None for unsolvable."""
    prover = Prover({fen: [proved(answer, depth)]} if answer else {})
    settings = GameOptions(Variant.R_MOBILITY, scheme=scheme).settings({})
    return adjudicate(
        Arbiter.of(parse_fen(fen), settings),
        tables,
        solver=Solver(prover=prover),
        require_tables=require_tables,
        require_proof=require_proof,
    )


def said(outcome: Outcome) -> tuple[str, str, str | None, bool]:
    bounds = None if outcome.bounds is None else str(outcome.bounds)
    return str(outcome.value), outcome.basis.value, bounds, outcome.proven


def test_an_exact_value(tablebase: Tablebase) -> None:
    outcome = judged(tablebase, "-G2.0 -G2.0", depth=9)
    assert said(outcome) == ("-G2.0", "solved", None, True)
    assert (str(outcome.accrued), outcome.depth) == ("G4.5", 9)
    assert judged(tablebase, "-G2.0 -G2.0").depth is None


def test_an_interval(tablebase: Tablebase) -> None:
    for bounds, scheme, value, basis in (
        ("G5.0 G3.0", Scheme.WINNER, "G4.5", "bounded"),  # the accrued score lies there, and may stand
        ("G4.0 G3.0", Scheme.WINNER, "G4.0", "bounded"),  # it does not
        ("G5.5 G5.0", Scheme.KOMI, "G5.0", "bounded"),
        ("-G8.5 G7.0", Scheme.EXPONENTIAL, "G7.0", "bounded"),
        ("-G8.5 G7.0", Scheme.HARMONIC, "G7.0", "nearest bound"),
        ("G7.0 G4.0", Scheme.WINNER, "G4.5", "played"),
        ("G5.0 G4.0", Scheme.EXPONENTIAL, "G4.5", "played"),
        ("-G0.0 G0.5", Scheme.WINNER, "G4.5", "played"),
        ("-G1.0 -G5.5", Scheme.EXPONENTIAL, "-G5.5", "nearest bound"),
        ("G4.0 G3.0", Scheme.EXPONENTIAL, "G4.0", "nearest bound"),
    ):
        outcome = judged(tablebase, bounds, scheme=scheme)
        assert said(outcome) == (value, basis, bounds, basis == "bounded")
        assert (str(outcome.accrued), outcome.depth, outcome.missing) == ("G4.5", None, None)
    assert said(judged(tablebase, "-G0.0 G0.0")) == ("G4.5", "played", None, False)


def test_a_disproved_score_is_not_published(tablebase: Tablebase) -> None:
    """The nearest score that is not disproved is published, even if tables are missing."""
    outcome = judged(tablebase, "-G1.0 -G5.5", "8/5K1p/8/8/6P1/1k2b2P/8/8 b - - 0 52 G21.5")
    assert said(outcome) == ("-G5.5", "nearest bound", "-G1.0 -G5.5", False)
    assert str(outcome.accrued) == "G21.5"
    outcome = judged(tablebase, "G3.5 G3.0", ROOK)
    assert said(outcome) == ("G3.5", "nearest bound", "G3.5 G3.0", False)
    assert outcome.missing is not None


def test_a_missing_table(tablebase: Tablebase) -> None:
    for answer, expected in (
        ("G2.0 G2.0", ("G2.0", "solved", None, True)),
        ("-G8.5 G7.0", ("G7.0", "bounded", "-G8.5 G7.0", True)),
        ("G5.0 G3.0", ("G4.0", "table missing", "G5.0 G3.0", False)),
        ("", ("G4.0", "table missing", None, False)),
    ):
        outcome = judged(tablebase, answer, ROOK)
        assert said(outcome) == expected
        assert (outcome.missing is None) == outcome.proven


def test_positions_that_cannot_be_solved(tablebase: Tablebase) -> None:
    outcome = judged(tablebase, "", f"{CASTLING} G2.0")
    assert said(outcome) == ("G2.0", "played", None, False)
    assert outcome.unsolvable.startswith("the position has castling rights")


def test_games_with_a_proved_result_are_not_solved(tablebase: Tablebase) -> None:
    """Results may be proved by tables, on the board, or off it."""
    prover = Prover({})
    solver = Solver(prover=prover)
    resigned = Ending(Basis.RESIGNATION, True, "Black resigns")
    assert adjudicate(BISHOP, tablebase, solver=solver).basis is Basis.TABLEBASE
    assert adjudicate("R6k/8/6K1/8/8/8/8/8 b - - 5 9 G3.0", tablebase, solver=solver).basis is Basis.MATE
    assert adjudicate(LOCKED, tablebase, resigned, solver=solver).basis is Basis.RESIGNATION
    assert adjudicate(LOCKED.replace("22", "100"), tablebase, solver=solver).basis is Basis.FIFTY_MOVES
    assert (prover.asked, solver.counts.asked) == ([], 0)


def test_bounds_that_prove_the_points_are_a_proof(tablebase: Tablebase) -> None:
    for answer in ("G3.0 G3.0", "-G8.5 G7.0"):
        for fen in (LOCKED, ROOK):
            assert judged(tablebase, answer, fen, require_proof=True).proven
            assert judged(tablebase, answer, fen, require_tables=True).proven
    with pytest.raises(UnprovenError) as caught:
        judged(tablebase, "-G4.5 G2.0", require_proof=True)
    assert str(caught.value) == (
        "no table can prove the result: the position has 6 men; tables have at most 5, kings included; "
        "it is proved only to lie between -G4.5 and G2.0; omit --require-proof"
    )
    with pytest.raises(UnprovenError, match="; nor can it be solved: the position has castling rights"):
        judged(tablebase, "", f"{CASTLING} G2.0", require_proof=True)
    for proof in (True, False):
        with pytest.raises(MissingTableError, match="tbgen build KRvK"):
            judged(tablebase, "G5.0 G3.0", ROOK, require_proof=proof, require_tables=not proof)
    assert not judged(tablebase, "-G4.5 G2.0", require_tables=True).proven
    late = Solver(total_time=0.0, prover=Prover({}))
    assert said(adjudicate(LOCKED, tablebase, solver=late)) == ("-G8.5", "played", None, False)
    with pytest.raises(UnprovenError, match="solving has proved nothing about it"):
        adjudicate(LOCKED, tablebase, solver=late, require_proof=True)


def test_arguments_that_exclude_a_solver(reference_dir: Path) -> None:
    with pytest.raises(ValueError, match="tables are required, but there are none"):
        adjudicate(LOCKED, None, solver=Solver())
    with pytest.raises(ValueError, match="positions are solved in r-mobility only"):
        adjudicate(LOCKED, open_tablebase(reference_dir, rules="wg"), solver=Solver())
