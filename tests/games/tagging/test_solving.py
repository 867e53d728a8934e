"""Tags of solved games, and outcomes from these tags; a stub replaces cells."""

import io
import re
from pathlib import Path

import pytest

from tbgen.beyond.jobs import Solver
from tbgen.board.scoring import Scheme
from tbgen.board.variant import Variant
from tbgen.errors import GameError
from tbgen.games.game_options import GameOptions
from tbgen.games.outcome import Basis
from tbgen.games.pgn.splitter import split_games
from tbgen.games.result_tags import outcome_of_tags, tags_of
from tbgen.games.tagging import Adjudicator, TaggedGame, Tally, tag_games
from tests.support.solving import CASTLING, LOCKED, WALL, Prover, proved

R = Variant.R_MOBILITY
BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
MATE = '[Event "mate"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n'
ANSWERS = {LOCKED: [proved("G5.0 G4.0")], WALL: [proved("-G3.5 -G3.5", 4)]}


def stopped(fen: str, accrued: str, result: str = "1/2-1/2") -> str:
    return f'[FEN "{fen}"]\n[FENAccrued "{accrued}"]\n[Result "{result}"]\n\n{result}\n\n'


GAMES = (stopped(LOCKED, "G4.5") + MATE + stopped(WALL, "G3.0") + stopped(CASTLING, "G2.0")).encode()


def tagged(data: bytes, adjudicator: Adjudicator, jobs: int = 1) -> list[TaggedGame]:
    return list(tag_games(io.BytesIO(data), adjudicator, jobs=jobs))


def joined(games: list[TaggedGame]) -> bytes:
    return b"".join(game.data for game in games)


def solving(
    scheme: Scheme | None = None, *, trust_tags: bool = False, require_proof: bool = False
) -> Adjudicator:
    return Adjudicator(
        GameOptions(R, scheme=scheme),
        "there/are/none",
        solver=Solver(prover=Prover(ANSWERS)),
        trust_tags=trust_tags,
        require_proof=require_proof,
    )


def plain(scheme: Scheme | None = None, *, trust_tags: bool = True) -> Adjudicator:
    return Adjudicator(GameOptions(R, scheme=scheme), "there/are/none", trust_tags=trust_tags)


def values(data: bytes) -> list[dict[str, str]]:
    return [{tag.name: tag.value for tag in raw.tags} for raw in split_games(io.BytesIO(data))]


@pytest.mark.parametrize("scheme", [None, Scheme.WINNER])
def test_tagging_twice_is_tagging_once(scheme: Scheme | None) -> None:
    once = joined(tagged(GAMES, solving(scheme)))
    assert joined(tagged(once, solving(scheme))) == once
    # Without solving nothing is left of it, as nothing is of tables that are gone.
    assert joined(tagged(once, plain(scheme, trust_tags=False))) == joined(tagged(GAMES, plain(scheme)))


@pytest.mark.parametrize("scheme", [None, Scheme.WINNER])
def test_tags_tell_the_outcome(scheme: Scheme | None) -> None:
    for game in tagged(GAMES, solving(scheme)):
        assert game.outcome is not None
        (told,) = values(game.data)
        found = outcome_of_tags(told, GameOptions(R))
        assert found is not None
        assert tags_of(found) == tags_of(game.outcome)
        assert (found.basis, found.bounds) == (game.outcome.basis, game.outcome.bounds)


def test_processes_change_nothing() -> None:
    """Games are solved in this process, once each and in order; with several processes, only if necessary."""
    data = b"".join(
        (stopped(LOCKED, f"G{4 + number % 9}.0") + MATE + stopped(WALL, f"-G{2 + number}.0")).encode()
        for number in range(40)
    )
    expected, asked = b"", []
    for jobs in (1, 2, 3):
        prover = Prover(ANSWERS)
        solver = Solver(prover=prover)
        found = joined(tagged(data, Adjudicator(GameOptions(R), "there/are/none", solver=solver), jobs))
        if jobs == 1:
            expected, asked = found, prover.asked
            # Each state once; scores no better than the positions' own, -G8.5 and -G3.5, come to these.
            assert len(set(asked)) == len(asked) == (5 + 1) + (2 + 1)
        assert found == expected
        assert prover.asked == asked
        assert (solver.counts.asked, solver.counts.solved) == (80, 80)


def test_a_proof_is_required_after_solving_has_been_tried() -> None:
    data = b"".join(stopped(WALL, "G3.0").encode() for _ in range(40))
    for jobs in (1, 2):
        games = tagged(data, solving(require_proof=True), jobs)
        assert {game.outcome.basis for game in games if game.outcome} == {Basis.SOLVED}
        with pytest.raises(GameError, match="game 41, line 241: no table can prove the result"):
            tagged(data + GAMES, solving(require_proof=True), jobs)


def test_counts_of_unsolvable_games() -> None:
    tally = Tally()
    for game in tagged(GAMES + GAMES, solving()):
        if game.outcome is not None:
            tally.add(game.outcome, f"game {game.raw.number}")
    assert tally.bases == {Basis.PLAYED: 4, Basis.MATE: 2, Basis.SOLVED: 2}
    (told,) = tally.unsolvable.items()
    assert told == ("the position has castling rights: cells are solved without them", 2)


def test_trusted_tags() -> None:
    """An exact value is taken from the tags; bounds determine points by the scoring of the options."""
    once = joined(tagged(GAMES, solving(Scheme.WINNER)))

    def bases(adjudicator: Adjudicator, data: bytes = once) -> list[tuple[str, str, str | None]]:
        found = []
        for game in tagged(data, adjudicator):
            assert game.outcome is not None
            bounds = game.outcome.bounds
            found.append(
                (str(game.outcome.value), game.outcome.basis.value, None if bounds is None else str(bounds))
            )
        return found

    rest = [("-G0.0", "mate", None), ("-G3.5", "solved", None), ("G2.0", "played", None)]
    by_winner = [("G4.5", "bounded", "G5.0 G4.0"), *rest]
    as_played = [("G4.5", "played", "G5.0 G4.0"), *rest]
    assert bases(plain()) == by_winner
    assert bases(plain(Scheme.KOMI)) == by_winner
    assert bases(plain(Scheme.EXPONENTIAL)) == as_played
    # What was not enough for the scoring of the tags may be for another one.
    exponential = joined(tagged(GAMES, solving()))
    assert bases(plain(), exponential) == as_played
    assert bases(plain(Scheme.WINNER), exponential) == by_winner
    # Solving takes place only where the tags prove nothing.
    prover = Prover(ANSWERS)
    again = Adjudicator(
        GameOptions(R, scheme=Scheme.EXPONENTIAL),
        "there/are/none",
        solver=Solver(prover=prover),
        trust_tags=True,
    )
    assert bases(again) == as_played
    assert [board for board, _ in prover.asked] == [fen.split()[0] for fen in (LOCKED, CASTLING)]


def test_a_disproved_score_is_not_tagged() -> None:
    """Tags with the nearest bound are read unchanged, also by commands without solving."""
    adjudicator = Adjudicator(solver=Solver(prover=Prover({LOCKED: [proved("-G1.0 -G5.5")]})))
    (once,) = tagged(stopped(LOCKED, "G21.5").encode(), adjudicator)
    (told,) = values(once.data)
    names = ("RMobilityResult", "Points", "RMobilityBasis", "RMobilityAccrued", "RMobilityBounds")
    assert [told[name] for name in names] == [
        *("-G5.5", "0.4998-0.5002", "nearest bound", "-G8.5", "-G1.0 -G5.5")
    ]
    assert outcome_of_tags(told, GameOptions(R)) == once.outcome
    # Whoever has tagged such games as played has tagged a score that was disproved.
    older = once.data.replace(b"nearest bound", b"played").replace(b'Result "-G5.5"', b'Result "-G8.5"')
    for data in (once.data, older):
        (again,) = tagged(data, plain())
        assert again.outcome == once.outcome
        assert again.data == once.data
    (by_winner,) = tagged(once.data, plain(Scheme.WINNER))
    assert by_winner.outcome is not None
    assert (str(by_winner.outcome.value), by_winner.outcome.basis) == ("-G5.5", Basis.BOUNDED)


@pytest.mark.parametrize("bounds", ["", "G4.0", "G4.0 G5.0", "x y"])
def test_invalid_bounds_are_ignored(bounds: str) -> None:
    once = joined(tagged(stopped(LOCKED, "G4.5").encode(), solving(Scheme.WINNER))).decode()
    broken = re.sub('RMobilityBounds ".*"', f'RMobilityBounds "{bounds}"', once)
    for text in (broken, re.sub(r"\[RMobilityBounds .*\n", "", once)):
        (told,) = values(text.encode())
        assert outcome_of_tags(told, GameOptions(R)) is None
        (game,) = tagged(text.encode(), plain())
        assert game.outcome is not None
        assert (game.outcome.basis, game.outcome.bounds) == (Basis.PLAYED, None)


def test_tables_come_first(reference_dir: Path) -> None:
    prover = Prover({})
    adjudicator = Adjudicator(directory=reference_dir, solver=Solver(prover=prover))
    (game,) = tagged(f'[FEN "{BISHOP}"]\n\n*\n'.encode(), adjudicator)
    assert game.outcome is not None
    assert (str(game.outcome.value), game.outcome.basis) == ("G1.5", Basis.TABLEBASE)
    assert prover.asked == []
