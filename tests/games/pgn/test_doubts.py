"""Games that contradict themselves or lack a part: their doubts, what counts, and where they end."""

import io
from itertools import product
from pathlib import Path

import pytest

from tbgen.errors import UnprovenError
from tbgen.games.outcome import Basis, Doubt, Outcome
from tbgen.games.pgn import reader, splitter
from tbgen.games.pgn.reader import Game, read_games
from tbgen.games.tagging import Adjudicator, TaggedGame, Tally, tag_games
from tests.support.paths import rows

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


def unescaped(text: str) -> str:
    return text.encode("latin-1", "backslashreplace").decode("unicode-escape")


def test_games_as_they_are_written() -> None:
    """Each row is one game, or two games with another one after it."""
    for parts in rows("odd_games.txt", " | "):
        given, movetext, *expected = (unescaped(part.partition("  # ")[0].strip()) for part in parts)
        tags = [tag.partition("=") for tag in given.split("; ")] if given != "-" else []
        head = "".join(f'[{name} "{value}"]\n' for name, _, value in tags)
        text = f"{head}\n{'' if movetext == '-' else movetext}\n"
        for game, *others in (games_of(text), games_of(f"{text}\n{NEXT}")):
            uci = " ".join(move.uci() for move in game.moves)
            moves = uci if " " in expected[1] or expected[1] == uci else str(len(game.moves))
            told = game.error.reason if game.error else ", ".join(game.doubts) or "-"
            assert ["broken" if game.error else game.result, moves, told] == expected, text
            assert [other.tags["Event"] for other in others] in ([], ["the next"])


def test_a_result_against_the_text_as_in_the_infrafinal_of_season_21() -> None:
    """Game 20.1 of the infrafinal once had 1-0 in the tag and 1/2-1/2 after 93 plies."""
    found = outcome(pgn(f"{MOVES} {{d=1, Black resigns}} 1/2-1/2", Result="1-0", PlyCount="5"))
    assert found.doubts == (Doubt.RESULT,)
    assert (found.recorded, found.basis, str(found.value)) == ("1-0", Basis.RESIGNATION, "G0.0")
    assert "the tag counts" in Doubt.RESULT.sentence


def test_a_truncated_game_is_not_adjudicated_as_if_complete(reference_dir: Path) -> None:
    """No position but the last is looked up, and a recorded win counts."""
    tables = Adjudicator(directory=reference_dir)
    whole = f'{BISHOP}[Result "1/2-1/2"]\n[PlyCount "2"]\n\n1... Kh5 2. Kf4 1/2-1/2\n'
    assert outcome(whole, tables).basis is Basis.TABLEBASE
    for cut in (whole.replace('"2"', '"93"'), whole.replace("PlyCount", "X").replace(" 1/2-1/2\n", "\n")):
        found = outcome(cut, tables)
        assert (found.basis, found.value, found.doubts) == (Basis.PLAYED, found.accrued, (Doubt.TRUNCATED,))
        assert (found.recorded, found.proven, found.missing) == ("1/2-1/2", False, None)
        won = outcome(cut.replace('Result "1/2-1/2', 'Result "0-1'), tables)
        assert (str(won.value), won.basis) == ("-G0.0", Basis.FORFEIT)
    cut, lost = (
        f"{whole[:-1].removesuffix('1/2-1/2')}\n".replace("PlyCount", "X"),
        whole.replace("1/2-1/2", "0-0"),
    )
    found = outcome(lost, tables)
    assert (found.basis, found.value, found.doubts) == (Basis.PLAYED, found.accrued, (Doubt.BOTH_FORFEIT,))
    for text, why in (
        (cut, "the last moves of the game are missing"),
        (lost, "both sides have lost by forfeit"),
    ):
        with pytest.raises(Exception, match=why) as caught:
            outcome(text, Adjudicator(directory=reference_dir, require_proof=True))
        assert isinstance(caught.value.__cause__, UnprovenError)


def test_a_repetition_before_missing_moves_ends_nothing() -> None:
    shuffle = "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8"
    assert outcome(pgn(f"{shuffle} 1/2-1/2", Result="1/2-1/2")).basis is Basis.REPETITION
    assert outcome(pgn(shuffle, Result="1/2-1/2")).basis is Basis.PLAYED


def test_stalemate_on_the_board_counts_against_the_tag() -> None:
    found = outcome(pgn("1-0", FEN="7k/5Q2/6K1/8/8/8/8/8 b - - 1 1", Result="1-0"))
    assert (str(found.value), found.classical, found.doubts) == ("G0.5", "1/2-1/2", (Doubt.FINAL_POSITION,))


def test_an_open_comment_swallows_no_game() -> None:
    """A comment of season 11, Division P, swallowed game 269."""
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
    """An example is season 16, Testing 13, round 2.4."""
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


def test_truncated_tags_belong_to_no_other_game() -> None:
    """A program was terminated at any byte, and later appended to the same file."""
    tags = {"Event": "one", "Round": "1", "White": "A", "Black": "B", "Result": "1-0", "TimeControl": "6+0.1"}
    header = pgn("", **tags).rstrip()
    following = pgn(
        "1. f3 e5 2. g4 Qh4# 0-1", Event=r"the \"X\" open", Round="2", White="B", Black="A", Result="0-1"
    )
    for cut, event in product(range(1, len(header)), (True, False)):
        text = header[:cut] + (following if event else following.partition("\n")[2])
        *before, last = tagged(text)
        assert b"".join(game.raw.data for game in (*before, last)).decode() == text
        assert all(game.error is not None for game in before), text
        if last.error is None:
            assert last.raw.values["White"] + str(last.outcome and last.outcome.value) == "B-G0.0", text
    (whole,) = tagged(f"{header}\n\n1. e4 1-0\n")
    trusting = Adjudicator(directory="there/are/none", trust_tags=True)
    assert [each.error is None for each in tagged(whole.data.decode()[:-11] + following, trusting)] == [
        False,
        True,
    ]
    for end in ("1. e4 e5 2. Nf", "1. e4 {+0.1/9 0.0", "1. e4 e5"):
        one, two = games_of(pgn(end, Result="1-0").rstrip() + following)
        assert one.error is not None or Doubt.TRUNCATED in one.doubts
        assert (two.error, two.doubts, two.tags["White"]) == (None, (), "B")
    (game,) = games_of(pgn('1. e4 {see [Event "x"] there} e5 ; [Event "x"]\n2. d4 *') + "\n")
    assert (game.error, game.doubts, len(game.moves)) == (None, (), 3)


def test_a_game_that_is_too_long_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The game is passed through in parts, too long by bytes or by tags, and the next game is read."""
    monkeypatch.setattr(splitter, "MAX_BYTES", 1000)
    monkeypatch.setattr(splitter, "MAX_TAGS", 10)
    monkeypatch.setattr(reader, "MAX_PLIES", 4)
    words, tag = "x" * 3000, '[A "1"]\n'
    for long in (MOVES, f"1. e4 {{{words}}} e5", f"1. e4 {{{words}", "1. e4 {x\n" * 400 + "}", tag * 3000):
        sound = pgn("1. e4 {" + "x" * 800 + "} *")
        text = (sound + pgn(long).rstrip() + "\n\n" + NEXT) * 2
        found = tagged(text)
        assert b"".join(game.raw.data for game in found).decode() == text
        assert max(len(game.raw.data) for game in found) < 2 * len(words)
        told = [game for game in found if not game.raw.empty]
        assert [game.raw.number for game in told] == [1, 2, 3, 4, 5, 6]
        assert ["the maximum for one game" in str(game.error) for game in told] == [False, True, False] * 2
        begins, half = [game.raw.line for game in told], text.count("\n") // 2
        assert begins[3:] == [line + half for line in begins[:3]]


def test_a_missing_bracket_at_the_end_begins_no_game() -> None:
    one, two = games_of('[Event "one"]\n\n1. e4 *\n\n[Event "two"')
    assert one.error is None
    assert "neither tags nor moves" in str(two.error)


def test_doubts_are_kept_in_tags() -> None:
    """Games that count by their tags have their doubts; a game that has been corrected has none."""
    (game,) = tagged(pgn(f"{MOVES} 0-1", Result="1-0", Round="1").replace("[Round", '[Round "2"]\n[Round'))
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
    assert tally.first_games == {Doubt.TRUNCATED: ["game 1", "game 2", "game 3"]}
    (sentence,) = tally.remarks()
    assert sentence.startswith(
        "5 doubtful games (truncated): the last moves are missing; the tag Result counts, and"
    )
    assert sentence.endswith(": game 1; game 2; game 3; and 2 more")
