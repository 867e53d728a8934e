"""How games ended that did not end on the board, read from what programs write."""

import io
import re

import chess
import chess.pgn
from hypothesis import given, settings
from hypothesis import strategies as st

from tbgen.games.outcome import Basis
from tbgen.games.pgn.ending import Ending, read_ending
from tests.support.exhaustive import sample

WHITE, BLACK = chess.WHITE, chess.BLACK
DRAW = "1/2-1/2"

# Engine data as Cute Chess, fastchess and TCEC put it before the sentence.
DATA = {
    "CUTE": "+0.48/9 0.003s, ",
    "FAST": '-1.25/18 0.102s, tl=4.1s, n=123456, pv="e2e4 e7e5", line="info string a, black resigns: b", ',
    "TCEC": "d=38, sd=38, mt=20891, tl=205502, n=1224116590, pv=Qd2+ Kb1 Qd1+, tb=1057777, mb=+0-1+1+0+0, ",
}
TAGS = ("Result", "Termination", "TerminationDetails", "RMobilityResult")
# Tags, comment, what ended the game for whom, and the text where it is not that of the comment.
TABLE = """
# Cute Chess 1.5
1-0; time forfeit | CUTE Black loses on time | time forfeit, White
0-1 | CUTE White resigns | resignation, Black
1-0; illegal move | CUTE Black makes an illegal move: e2e5 | illegal move, White
0-1; abandoned | White disconnects | abandoned, Black
1-0; stalled connection | CUTE Black's connection stalls | abandoned, White
1-0; adjudication | CUTE White wins by adjudication | adjudication, White
0-1; adjudication | CUTE Black wins by adjudication: Invalid result claim | adjudication, Black
0-1 | CUTE Black wins by adjudication: SyzygyTB | adjudication, Black  # without tags
1-0 | CUTE White wins by agreement | forfeit, White
=; adjudication | CUTE Draw by adjudication: SyzygyTB | stopped, nobody
=; time forfeit | CUTE Draw by timeout | stopped, nobody  # the opponent cannot win
=; illegal move | CUTE  makes an illegal move: e2e5 | stopped, nobody | tag  # the opponent cannot win
= | CUTE Draw by 3-fold repetition | stopped, nobody
*; unterminated | CUTE No result | stopped, nobody
# cuteRMob, August 2021
=; time forfeit; ; G0.0 | CUTE Black loses on time | time forfeit, White
=; illegal move; ; -G0.0 | CUTE White makes an illegal move: e2e5 | illegal move, Black
=; abandoned; ; G0.0 | Black disconnects | abandoned, White
=; stalled connection | CUTE White's connection stalls | abandoned, Black
= | CUTE Black resigns | resignation, White
=; adjudication; ; G0.0 | CUTE White wins by adjudication: SyzygyTB | adjudication, White
=; adjudication; ; -G0.0 | CUTE Black wins by adjudication | adjudication, Black
=; adjudication; ; * | CUTE Draw by adjudication | stopped, nobody
=; ; ; -G1.5 | CUTE End by K vs K G8.5 rule | stopped, nobody
=; time forfeit; ; -G0.0 | | time forfeit, Black | tag  # without comments
=; adjudication; ; G0.0 | | adjudication, White | tag  # without comments
# fastchess 1.8
0-1; time forfeit | FAST White loses on time (12ms overrun) | time forfeit, Black
=; time forfeit | FAST White loses on time (12ms overrun) | time forfeit, Black  # cuteRMob's result
1-0; abandoned | FAST Black's connection stalls | abandoned, White
1-0; adjudication | FAST White wins by adjudication: SyzygyTB | adjudication, White
=; normal | FAST Draw by fifty moves rule | stopped, nobody
1-0; time forfeit | FAST Seer loses on time | time forfeit, White | tag  # 0.9
1-0 | | forfeit, White  # pgnout min
# TCEC
1-0; adjudication; TCEC win rule | TCEC White wins by adjudication: TCEC win rule | adjudication, White
0-1; ; SyzygyTB | TCEC | adjudication, Black | tag
1-0; ; TB position | | adjudication, White | tag  # season 11
1-0; ; TCEC win rule | | adjudication, White | tag
=; adjudication; TCEC draw rule | TCEC Adjudication: TCEC draw rule | stopped, nobody
=; ; 3-Fold repetition | TCEC | stopped, nobody | tag
1-0; illegal move; F8f7 | TCEC Black makes an illegal move: f8f7 | illegal move, White  # a move
0-1; abandoned; White in infinite loop | TCEC White in infinite loop | abandoned, Black  # season 15
=; abandoned; TCEC draw | TCEC White disconnects | stopped, nobody | tag  # a crash ruled a draw
=; ; Manual adjudication | TCEC Black's connection stalls | stopped, nobody | tag  # a stall ruled a draw
=; adjudication; Manual draw adjudication | TCEC White disconnects | stopped, nobody | tag
1-0; manual adjudication; manual adjudication | TCEC White loses on time | adjudication, White | tag
0-1; GUI adjudication | Finalposition 8/8/8 | adjudication, Black | tag  # match 4
1-0; GUI TB Mate in 30 | | adjudication, White | tag  # season 5
0-1; time | | time forfeit, Black | tag  # season 2
1-0; Chiron Stage 3 withdrawal | | forfeit, White | tag  # season 4
# lichess
1-0; Normal | [%eval 3.1] [%clk 0:00:03] | resignation, White | tag
0-1; Time forfeit | [%clk 0:00:00] | time forfeit, Black | tag
=; Time forfeit | [%clk 0:00:00] | stopped, nobody | tag
=; Normal | | stopped, nobody | tag
=; Insufficient material | | stopped, nobody | tag
1-0; Abandoned | | abandoned, White | tag
0-1; Rules infraction | | forfeit, Black | tag
*; Unterminated | | stopped, nobody | tag
0-1; Normal | White resigns. | resignation, Black | White resigns  # annotated
# chess.com
1-0; hikaru won by resignation | | resignation, White | tag
0-1; hikaru won on time | | time forfeit, Black | tag
1-0; hikaru won - game abandoned | | abandoned, White | tag
0-1; SyzygyTB won on time | | time forfeit, Black | tag  # a name
=; Game drawn by timeout vs insufficient material | | stopped, nobody | tag
# the PGN standard, servers, and people in comments
1-0; death | | forfeit, White | tag
0-1; ADJUDICATION | | adjudication, Black | tag
1-0; rules infraction | | forfeit, White | tag
=; emergency | | stopped, nobody | tag
1-0 | Black forfeits on time | time forfeit, White  # FICS
= | Black ran out of time and White has no material to mate | stopped, nobody  # FICS
0-1 | Adjudicated after 60 moves! | adjudication, Black | -  # people
1-0 | The tablebase win: 40...Kb7, see {there} | forfeit, White | -  # people
= | if White resigns now it is 0-1 | stopped, nobody | -  # people
# anything
- | | stopped, nobody
= | | stopped, nobody
* | | stopped, nobody
0-1 | | forfeit, Black
0-1; Unknown | | forfeit, Black | tag
0-1 | White resigned | resignation, Black  # resigned, or so it is said
1-0; normal | Black gives up | forfeit, White  # normal, but how
1-0 | White resigns | forfeit, White | -  # texts contradict the result
1-0; Normal | White resigns | forfeit, White | tag  # texts contradict the result
0-1; ; Black loses on time | | forfeit, Black | tag  # texts contradict the result
1-0; ; ; -G0.0 | | forfeit, White  # score contradicts the result
=; Black resigns | White resigns | stopped, nobody | tag  # texts contradict each other
=; ; BLACK LOSES ON TIME | Black resigns | resignation, White  # texts agree
"""


def tags(*values: str) -> dict[str, str]:
    return {name: value for name, value in zip(TAGS, values, strict=False) if value}


def row(line: str) -> tuple[dict[str, str], str, Ending]:
    """A row of the table as tags, comment and ending."""
    first, comment, ended, *told = (part.strip() for part in line.partition("  # ")[0].split(" |"))
    result, *others = first.split("; ") if first != "-" else [""]
    given = tags({"=": DRAW}.get(result, result), *map(str.strip, others))
    program, _, sentence = comment.partition(" ")
    if program in DATA:
        comment = DATA[program] + sentence
    text = sentence if program in DATA else comment
    if told:
        tag = given.get("TerminationDetails", given.get("Termination", ""))
        text = {"tag": tag, "-": ""}.get(told[0], told[0])
    cause, winner = ended.split(", ")
    basis = None if cause == "stopped" else Basis(cause)
    return (
        given,
        comment,
        Ending(basis, {"White": WHITE, "Black": BLACK, "nobody": None}[winner], text.strip()),
    )


ROWS = [row(line) for line in TABLE.strip().splitlines() if not line.startswith("# ")]


def test_what_programs_write() -> None:
    assert len(ROWS) == 84
    for given_tags, comment, ending in ROWS:
        assert read_ending(given_tags, comment) == ending, (given_tags, comment)


def test_a_sentence_may_be_wrapped_as_in_a_file() -> None:
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
    """Exchanging the colours in the words exchanges the winner."""
    swapped = re.sub("white|black", other_colour, comment, flags=re.IGNORECASE)
    one, two = read_ending(tags(result), comment), read_ending(tags(result), swapped)
    assert two.cause is one.cause
    assert two.winner is (None if one.winner is None else not one.winner)


def test_long_texts_come_to_an_end() -> None:
    """A pattern whose time grew with the square of the text would take hours."""
    for noise in (", ", "white ", "Draw by: (", "won by ", "normal ", "White resigns: "):
        noise *= 25_000
        for result, cause in (("1-0", Basis.FORFEIT), ("*", None)):
            resigned = "resigns" in noise and cause is None
            ending = read_ending(tags(result, noise, noise + "."), noise + "!")
            assert ending.cause is (Basis.RESIGNATION if resigned else cause), noise[:20]
