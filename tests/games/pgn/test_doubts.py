"""Games that contradict themselves, or lack a part: what is doubtful, what counts, and where they end."""

import io
from pathlib import Path

import pytest

from tbgen.errors import UnprovenError
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.pgn.doubts import Doubt
from tbgen.games.pgn.reader import Game, read_games
from tbgen.games.tagging import Adjudicator, TaggedGame, Tally, tag_games

MOVES = "1. e4 {d=30, sd=40} e5 2. Nf3 Nc6 3. Bb5"
NEXT = '[Event "the next"]\n[Result "0-1"]\n\n1. f3 {d=1} e5 2. g4 Qh4# 0-1\n'
BISHOP = '[FEN "8/8/8/4KBk1/8/8/8/8 b - - 0 1"]\n'


def games_of(text: str) -> list[Game]:
    return list(read_games(io.BytesIO(text.encode())))


def tagged(text: str, adjudicator: Adjudicator | None = None) -> list[TaggedGame]:
    return list(tag_games(io.BytesIO(text.encode()), adjudicator or Adjudicator(directory="there/are/none")))


def outcome(text: str, adjudicator: Adjudicator | None = None) -> Outcome:
    (game,) = tagged(text, adjudicator)
    assert game.outcome is not None
    return game.outcome


def pgn(movetext: str, **tags: str) -> str:
    lines = "".join(f'[{name} "{value}"]\n' for name, value in {"Event": "one", **tags}.items())
    return f"{lines}\n{movetext}\n\n"


def test_doubts() -> None:
    mate, stalemate = "1. f3 e5 2. g4 Qh4#", "7k/5Q2/6K1/8/8/8/8/8 b - - 1 1"
    for text, doubts in (
        (pgn(f"{MOVES} 1-0", Result="1-0", PlyCount="5"), []),
        (pgn(f"{MOVES} *", Result="*"), []),
        (pgn(f"{MOVES} 1/2", Result="1/2-1/2"), []),
        (pgn(MOVES), []),
        (pgn(MOVES, Result="*"), []),
        (pgn("", Result="1-0"), [Doubt.TRUNCATED]),
        (pgn(MOVES, Result="1/2-1/2"), [Doubt.TRUNCATED]),
        (pgn(MOVES, Result="1-0", PlyCount="93"), [Doubt.TRUNCATED]),
        (pgn(f"{MOVES} 1-0", Result="1-0", PlyCount="93"), [Doubt.TRUNCATED]),
        (pgn(mate, Result="0-1"), [Doubt.RESULT]),
        (pgn(MOVES, Result="1-0", PlyCount="5"), [Doubt.RESULT]),
        (pgn(f"{MOVES} {{d=30, 1-0", Result="1-0", PlyCount="5"), [Doubt.UNCLOSED_COMMENT]),
        (pgn(f"{MOVES} {{d=30, 1-0", Result="1-0", PlyCount="6"), [Doubt.TRUNCATED, Doubt.UNCLOSED_COMMENT]),
        (pgn(f"{MOVES} 1/2-1/2", Result="1-0", PlyCount="5"), [Doubt.RESULT]),
        (pgn(f"{MOVES} *", Result="1-0"), [Doubt.RESULT]),
        (pgn(f"{MOVES} 1-0", Result="*"), [Doubt.RESULT]),
        (pgn(f"{mate} 1-0", Result="1-0"), [Doubt.FINAL_POSITION]),
        (pgn(f"{mate} 0-1", Result="1/2-1/2"), [Doubt.RESULT, Doubt.FINAL_POSITION]),
        (pgn("1-0", FEN=stalemate), [Doubt.FINAL_POSITION]),
        (pgn("1/2-1/2", FEN=stalemate), []),
        (pgn(f"{MOVES} *", PlyCount="4"), [Doubt.PLY_COUNT]),
        (pgn(f"{MOVES} *", PlyCount="four"), []),
        (pgn(f"{mate} 0-1", PlyCount="5"), [Doubt.PLY_COUNT]),
        ('[Result "1-0"]\n[Round "1"]\n[Result "0-1"]\n\n1. e4 1-0\n', [Doubt.DUPLICATE_TAG]),
        ('[Round "1"]\n[Round "1"]\n[Points "1-0"]\n[Points "0-1"]\n\n1. e4 1-0\n', []),
        ('[Event "one"\n[Round "1"]\n\n1. e4 1-0\n', [Doubt.MALFORMED_TAG]),
        (pgn(f"{MOVES} {{d=30, sd", Result="1-0"), [Doubt.TRUNCATED, Doubt.UNCLOSED_COMMENT]),
        (pgn(f"{mate} {{d=30, 0-1", Result="0-1"), [Doubt.UNCLOSED_COMMENT]),
        (pgn(f"{MOVES} 1-0 {{a long way", Result="1-0"), [Doubt.UNCLOSED_COMMENT]),
    ):
        (game,) = games_of(text)
        assert (game.error, list(game.doubts)) == (None, doubts), text


def test_a_result_against_the_text_as_in_the_infrafinal_of_season_21() -> None:
    """Its game 20.1 once had 1-0 in the tag and 1/2-1/2 after 93 plies."""
    found = outcome(pgn(f"{MOVES} {{d=1, Black resigns}} 1/2-1/2", Result="1-0", PlyCount="5"))
    assert found.doubts == (Doubt.RESULT,)
    assert (found.recorded, found.basis, str(found.value)) == ("1-0", Basis.RESIGNATION, "G0.0")
    assert "the tag counts" in Doubt.RESULT.sentence


def test_a_game_without_its_last_moves_is_not_adjudicated_as_if_whole(reference_dir: Path) -> None:
    """Nothing is looked up for a position that is not the last; who has won has done so."""
    tables = Adjudicator(directory=reference_dir)
    whole = f'{BISHOP}[Result "1/2-1/2"]\n[PlyCount "2"]\n\n1... Kh5 2. Kf4 1/2-1/2\n'
    assert outcome(whole, tables).basis is Basis.TABLEBASE
    for cut in (whole.replace('"2"', '"93"'), whole.replace("PlyCount", "X").replace(" 1/2-1/2\n", "\n")):
        found = outcome(cut, tables)
        assert (found.basis, found.value, found.doubts) == (Basis.PLAYED, found.accrued, (Doubt.TRUNCATED,))
        assert (found.recorded, found.proven, found.missing) == ("1/2-1/2", False, None)
        won = outcome(cut.replace('Result "1/2-1/2', 'Result "0-1'), tables)
        assert (str(won.value), won.basis) == ("-G0.0", Basis.FORFEIT)
        with pytest.raises(Exception, match="the last moves of the game are missing") as caught:
            outcome(cut, Adjudicator(directory=reference_dir, require_proof=True))
        assert isinstance(caught.value.__cause__, UnprovenError)


def test_a_repetition_before_the_missing_moves_is_no_end() -> None:
    shuffle = "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8"
    assert outcome(pgn(f"{shuffle} 1/2-1/2", Result="1/2-1/2")).basis is Basis.REPETITION
    assert outcome(pgn(shuffle, Result="1/2-1/2")).basis is Basis.PLAYED


def test_stalemate_on_the_board_counts_against_the_tag() -> None:
    found = outcome(pgn("1-0", FEN="7k/5Q2/6K1/8/8/8/8/8 b - - 1 1", Result="1-0"))
    assert (str(found.value), found.classical, found.doubts) == ("G0.5", "1/2-1/2", (Doubt.FINAL_POSITION,))


def test_an_open_comment_swallows_no_game() -> None:
    """As one of season 11, Division P, swallowed game 269."""
    for movetext in (f"{MOVES} {{d=30, mt=1", f"{MOVES} {{d=30\n\n[%clk 1]", "{opening"):
        one, two = games_of(pgn(movetext, Result="1-0") + NEXT)
        assert Doubt.UNCLOSED_COMMENT in one.doubts
        assert len(one.moves) == (5 if MOVES in movetext else 0)
        assert (two.tags["Event"], len(two.moves), two.doubts, two.error) == ("the next", 4, (), None)
        text = (pgn(movetext, Result="1-0") + NEXT) * 5
        found = tagged(text)
        assert b"".join(game.raw.data for game in found) == text.encode()
        assert [game.error for game in found] == [None] * 10


def test_a_tag_event_without_a_bracket_begins_a_game() -> None:
    """As in season 16, Testing 13, round 2.4."""
    first, second = (
        '[Event "one"]\n[Result "1-0"]\n\n1. e4 1-0\n',
        '[Site "x"]\n[Result "0-1"]\n\n1. d4 0-1\n',
    )
    for line in ('[Event "two"', 'Event "two"]', "[Event two]"):
        for gap in ("", "\n"):
            one, two = games_of(f"{first}{gap}{line}\n{second}")
            assert (one.error, one.doubts, one.result) == (None, (), "1-0")
            assert (two.error, two.doubts, two.result) == (None, (Doubt.MALFORMED_TAG,), "0-1")
            assert two.tags == {"Site": "x", "Result": "0-1"}


def test_a_bracket_that_is_missing_at_the_end_is_no_game() -> None:
    one, two = games_of('[Event "one"]\n\n1. e4 *\n\n[Event "two"')
    assert one.error is None
    assert "neither tags nor moves" in str(two.error)


def test_doubts_are_kept_in_tags() -> None:
    """They are known of games that count by their tags, and gone when the game has been mended."""
    text = pgn(f"{MOVES} 0-1", Result="1-0", Round="1").replace("[Round", '[Round "2"]\n[Round')
    (game,) = tagged(text)
    told = game.data.decode()
    assert '[RMobilityDoubts "result, duplicate tag"]' in told
    trusting = Adjudicator(directory="there/are/none", trust_tags=True)
    assert outcome(told, trusting).doubts == (Doubt.RESULT, Doubt.DUPLICATE_TAG)
    assert outcome(told.replace("result, ", "nonsense, "), trusting).doubts == (
        Doubt.RESULT,
        Doubt.DUPLICATE_TAG,
    )
    (again,) = tagged(told.replace('[Round "2"]\n', "").replace(" 0-1\n", " 1-0\n"))
    assert "RMobilityDoubts" not in again.data.decode()


def test_doubtful_games_are_counted_and_the_first_ones_named() -> None:
    tally = Tally()
    for number in range(1, 6):
        tally.add(outcome(pgn(MOVES, Result="1/2-1/2")), f"game {number}")
    assert tally.document()["doubts"] == {"truncated": {"games": 5, "first": ["game 1", "game 2", "game 3"]}}
    (sentence,) = tally.remarks()
    assert sentence.startswith(
        "5 doubtful games (truncated): the last moves are missing; the tag Result counts, and"
    )
    assert sentence.endswith(": game 1; game 2; game 3; and 2 more")
