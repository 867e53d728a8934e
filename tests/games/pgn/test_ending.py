"""Endings of games that did not end on the board, in the words of programs."""

import io
import re

import chess
import chess.pgn
from hypothesis import given, settings
from hypothesis import strategies as st

from tbgen.games.outcome import Basis
from tbgen.games.pgn.ending import Ending, read_ending
from tests.support.exhaustive import sample
from tests.support.paths import rows

WHITE, BLACK = chess.WHITE, chess.BLACK
DRAW = "1/2-1/2"

# Engine data as Cute Chess, fastchess and TCEC put it before the sentence.
PROGRAMS = {
    "CUTE": "+0.48/9 0.003s, ",
    "FAST": '-1.25/18 0.102s, tl=4.1s, n=123456, pv="e2e4 e7e5", line="info string a, black resigns: b", ',
    "TCEC": "d=38, sd=38, mt=20891, tl=205502, n=1224116590, pv=Qd2+ Kb1 Qd1+, tb=1057777, mb=+0-1+1+0+0, ",
}
TAGS = ("Result", "Termination", "TerminationDetails", "RMobilityResult", "White", "Black")


def tags(*values: str) -> dict[str, str]:
    return {name: value for name, value in zip(TAGS, values, strict=False) if value}


def row(parts: list[str]) -> tuple[dict[str, str], str, Ending]:
    """Return tags, comment and ending of a row of tests/data/endings.txt."""
    first, comment, ended, *told = (part.partition("  # ")[0].strip() for part in parts)
    result, *others = first.split("; ") if first != "-" else [""]
    given = tags({"=": DRAW}.get(result, result), *map(str.strip, others))
    program, _, sentence = comment.partition(" ")
    if program in PROGRAMS:
        comment = PROGRAMS[program] + sentence
    text = sentence if program in PROGRAMS else comment
    if told:
        tag = given.get("TerminationDetails", given.get("Termination", ""))
        text = {"tag": tag, "-": ""}.get(told[0], told[0])
    cause, winner = ended.split(", ")
    basis = None if cause == "stopped" else Basis(cause)
    won = {"White": WHITE, "Black": BLACK, "nobody": None}[winner]
    return given, comment, Ending(basis, won, text.strip())


ROWS = [row(parts) for parts in rows("endings.txt", " |")]


def test_endings_of_programs() -> None:
    assert len(ROWS) == 137
    for given_tags, comment, ending in ROWS:
        assert read_ending(given_tags, comment) == ending, (given_tags, comment)


def test_a_sentence_may_contain_line_breaks() -> None:
    text = '[Result "1/2-1/2"]\n\n1. e4 {+0.48/9 0.003s,\nBlack makes an\nillegal move: e7e4} 1/2-1/2\n'
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    ending = read_ending(game.headers, game.end().comment)
    assert ending == Ending(Basis.ILLEGAL_MOVE, WHITE, "Black makes an illegal move: e7e4")


def test_the_text_is_short_and_printable() -> None:
    ending = read_ending(tags("1-0", "ended\n by \x1b[31m" + "x" * 500))
    assert ending.text.startswith("ended by \N{REPLACEMENT CHARACTER}[31mxxx")
    assert len(ending.text) == 80
    assert ending.text.endswith("…")
    assert read_ending(tags("1-0", "x" * 80)).text == "x" * 80


PHRASES = st.sampled_from(
    sorted({text for given, comment, _ in ROWS for text in [*given.values(), comment, comment.upper()]})
)
ANY_TEXT = st.one_of(st.text(), st.lists(st.one_of(PHRASES, st.text(max_size=5)), max_size=4).map(", ".join))
ANY_TAGS = st.fixed_dictionaries(
    {},
    optional={
        "Result": st.one_of(st.sampled_from(["1-0", "0-1", DRAW, "*", " 1-0 "]), st.text()),
        "Termination": ANY_TEXT,
        "TerminationDetails": ANY_TEXT,
        "RMobilityResult": st.one_of(st.sampled_from(["G0.0", "-G0.0", "G0.5", "*"]), st.text()),
    },
)


@settings(max_examples=sample(40, 100))
@given(ANY_TAGS, ANY_TEXT)
def test_any_text_is_an_ending(any_tags: dict[str, str], comment: str) -> None:
    ending = read_ending(any_tags, comment)
    assert (ending.winner is None) == (ending.cause is None)
    assert len(ending.text) <= 80
    assert ending.text.isprintable()


@given(ANY_TAGS, ANY_TEXT, st.sampled_from([("1-0", WHITE), ("0-1", BLACK)]))
def test_a_decisive_result_names_the_winner(
    any_tags: dict[str, str], comment: str, result: tuple[str, chess.Color]
) -> None:
    assert read_ending({**any_tags, "Result": result[0]}, comment).winner is result[1]


def other_colour(match: re.Match[str]) -> str:
    return "Black" if match[0].lower() == "white" else "White"


@given(st.sampled_from([DRAW, "*", ""]), ANY_TEXT)
def test_colours_are_treated_alike(result: str, comment: str) -> None:
    """To exchange the colours in the words exchanges the winner."""
    swapped = re.sub("white|black", other_colour, comment, flags=re.IGNORECASE)
    one, two = read_ending(tags(result), comment), read_ending(tags(result), swapped)
    assert two.cause is one.cause
    assert two.winner is (None if one.winner is None else not one.winner)


def test_long_texts_come_to_an_end() -> None:
    """A pattern with quadratic time would take hours."""
    for noise in (", ", "white ", "Draw by: (", "won by ", "normal ", "White resigns: "):
        noise *= 25_000
        for result, cause in (("1-0", Basis.FORFEIT), ("*", None)):
            resigned = "resigns" in noise and cause is None
            ending = read_ending(tags(result, noise, noise + "."), noise + "!")
            assert ending.cause is (Basis.RESIGNATION if resigned else cause), noise[:20]
