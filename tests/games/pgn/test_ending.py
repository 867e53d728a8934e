"""How games ended that did not end on the board, read from what programs write."""

import io
import re
import subprocess
import sys

import chess
import chess.pgn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbgen.games.outcome import Basis
from tbgen.games.pgn.ending import Ending, read_ending
from tests.support.exhaustive import sample

WHITE, BLACK = chess.WHITE, chess.BLACK
DRAW = "1/2-1/2"

TIME, ILLEGAL, LEFT = Basis.TIME_FORFEIT, Basis.ILLEGAL_MOVE, Basis.ABANDONED
RESIGNED, GIVEN, LOST, STOPPED = Basis.RESIGNATION, Basis.ADJUDICATION, Basis.FORFEIT, None

# Engine data as Cute Chess, fastchess and TCEC put it before the sentence.
CUTE = "+0.48/9 0.003s, "
FAST = '-1.25/18 0.102s, tl=4.1s, n=123456, pv="e2e4 e7e5", line="info string a, black resigns: b", '
TCEC = "d=38, sd=38, mt=20891, tl=205502, n=1224116590, pv=Qd2+ Kb1 Qd1+, tb=1057777, mb=+0-1+1+0+0, "

Row = tuple[str, dict[str, str], str, Ending]


def tags(result: str, termination: str = "", details: str = "", score: str = "") -> dict[str, str]:
    pairs = {
        "Result": result,
        "Termination": termination,
        "TerminationDetails": details,
        "RMobilityResult": score,
    }
    return {name: value for name, value in pairs.items() if value}


ROWS: list[Row] = [
    # Cute Chess 1.5
    (
        "cutechess",
        tags("1-0", "time forfeit"),
        CUTE + "Black loses on time",
        Ending(TIME, WHITE, "Black loses on time"),
    ),
    ("cutechess", tags("0-1"), CUTE + "White resigns", Ending(RESIGNED, BLACK, "White resigns")),
    (
        "cutechess",
        tags("1-0", "illegal move"),
        CUTE + "Black makes an illegal move: e2e5",
        Ending(ILLEGAL, WHITE, "Black makes an illegal move: e2e5"),
    ),
    ("cutechess", tags("0-1", "abandoned"), "White disconnects", Ending(LEFT, BLACK, "White disconnects")),
    (
        "cutechess",
        tags("1-0", "stalled connection"),
        CUTE + "Black's connection stalls",
        Ending(LEFT, WHITE, "Black's connection stalls"),
    ),
    (
        "cutechess",
        tags("1-0", "adjudication"),
        CUTE + "White wins by adjudication",
        Ending(GIVEN, WHITE, "White wins by adjudication"),
    ),
    (
        "cutechess",
        tags("0-1", "adjudication"),
        CUTE + "Black wins by adjudication: Invalid result claim",
        Ending(GIVEN, BLACK, "Black wins by adjudication: Invalid result claim"),
    ),
    (
        "cutechess without tags",
        tags("0-1"),
        CUTE + "Black wins by adjudication: SyzygyTB",
        Ending(GIVEN, BLACK, "Black wins by adjudication: SyzygyTB"),
    ),
    (
        "cutechess",
        tags("1-0"),
        CUTE + "White wins by agreement",
        Ending(LOST, WHITE, "White wins by agreement"),
    ),
    (
        "cutechess",
        tags(DRAW, "adjudication"),
        CUTE + "Draw by adjudication: SyzygyTB",
        Ending(STOPPED, None, "Draw by adjudication: SyzygyTB"),
    ),
    (
        "cutechess, the opponent cannot win",
        tags(DRAW, "time forfeit"),
        CUTE + "Draw by timeout",
        Ending(STOPPED, None, "Draw by timeout"),
    ),
    (
        "cutechess, the opponent cannot win",
        tags(DRAW, "illegal move"),
        CUTE + " makes an illegal move: e2e5",
        Ending(STOPPED, None, "illegal move"),
    ),
    (
        "cutechess",
        tags(DRAW),
        CUTE + "Draw by 3-fold repetition",
        Ending(STOPPED, None, "Draw by 3-fold repetition"),
    ),
    ("cutechess", tags("*", "unterminated"), CUTE + "No result", Ending(STOPPED, None, "No result")),
    # cuteRMob, August 2021
    (
        "cuteRMob",
        tags(DRAW, "time forfeit", score="G0.0"),
        CUTE + "Black loses on time",
        Ending(TIME, WHITE, "Black loses on time"),
    ),
    (
        "cuteRMob",
        tags(DRAW, "illegal move", score="-G0.0"),
        CUTE + "White makes an illegal move: e2e5",
        Ending(ILLEGAL, BLACK, "White makes an illegal move: e2e5"),
    ),
    (
        "cuteRMob",
        tags(DRAW, "abandoned", score="G0.0"),
        "Black disconnects",
        Ending(LEFT, WHITE, "Black disconnects"),
    ),
    (
        "cuteRMob",
        tags(DRAW, "stalled connection"),
        CUTE + "White's connection stalls",
        Ending(LEFT, BLACK, "White's connection stalls"),
    ),
    ("cuteRMob", tags(DRAW), CUTE + "Black resigns", Ending(RESIGNED, WHITE, "Black resigns")),
    (
        "cuteRMob",
        tags(DRAW, "adjudication", score="G0.0"),
        CUTE + "White wins by adjudication: SyzygyTB",
        Ending(GIVEN, WHITE, "White wins by adjudication: SyzygyTB"),
    ),
    (
        "cuteRMob",
        tags(DRAW, "adjudication", score="-G0.0"),
        CUTE + "Black wins by adjudication",
        Ending(GIVEN, BLACK, "Black wins by adjudication"),
    ),
    (
        "cuteRMob",
        tags(DRAW, "adjudication", score="*"),
        CUTE + "Draw by adjudication",
        Ending(STOPPED, None, "Draw by adjudication"),
    ),
    (
        "cuteRMob",
        tags(DRAW, score="-G1.5"),
        CUTE + "End by K vs K G8.5 rule",
        Ending(STOPPED, None, "End by K vs K G8.5 rule"),
    ),
    (
        "cuteRMob without comments",
        tags(DRAW, "time forfeit", score="-G0.0"),
        "",
        Ending(TIME, BLACK, "time forfeit"),
    ),
    (
        "cuteRMob without comments",
        tags(DRAW, "adjudication", score="G0.0"),
        "",
        Ending(GIVEN, WHITE, "adjudication"),
    ),
    # fastchess 1.8 and 0.9
    (
        "fastchess",
        tags("0-1", "time forfeit"),
        FAST + "White loses on time (12ms overrun)",
        Ending(TIME, BLACK, "White loses on time (12ms overrun)"),
    ),
    (
        "the words of fastchess, the result of cuteRMob",
        tags(DRAW, "time forfeit"),
        FAST + "White loses on time (12ms overrun)",
        Ending(TIME, BLACK, "White loses on time (12ms overrun)"),
    ),
    (
        "fastchess",
        tags("1-0", "abandoned"),
        FAST + "Black's connection stalls",
        Ending(LEFT, WHITE, "Black's connection stalls"),
    ),
    (
        "fastchess",
        tags("1-0", "adjudication"),
        FAST + "White wins by adjudication: SyzygyTB",
        Ending(GIVEN, WHITE, "White wins by adjudication: SyzygyTB"),
    ),
    (
        "fastchess",
        tags(DRAW, "normal"),
        FAST + "Draw by fifty moves rule",
        Ending(STOPPED, None, "Draw by fifty moves rule"),
    ),
    (
        "fastchess 0.9",
        tags("1-0", "time forfeit"),
        FAST + "Seer loses on time",
        Ending(TIME, WHITE, "time forfeit"),
    ),
    ("fastchess, pgnout min", tags("1-0"), "", Ending(LOST, WHITE, "")),
    # TCEC
    (
        "TCEC",
        tags("1-0", "adjudication", "TCEC win rule"),
        TCEC + "White wins by adjudication: TCEC win rule",
        Ending(GIVEN, WHITE, "White wins by adjudication: TCEC win rule"),
    ),
    ("TCEC", tags("0-1", "", "SyzygyTB"), TCEC, Ending(GIVEN, BLACK, "SyzygyTB")),
    ("TCEC season 11", tags("1-0", "", "TB position"), "", Ending(GIVEN, WHITE, "TB position")),
    ("TCEC", tags("1-0", "", "TCEC win rule"), "", Ending(GIVEN, WHITE, "TCEC win rule")),
    (
        "TCEC",
        tags(DRAW, "adjudication", "TCEC draw rule"),
        TCEC + "Adjudication: TCEC draw rule",
        Ending(STOPPED, None, "Adjudication: TCEC draw rule"),
    ),
    ("TCEC", tags(DRAW, "", "3-Fold repetition"), TCEC, Ending(STOPPED, None, "3-Fold repetition")),
    (
        "TCEC season 16, the details are a move",
        tags("1-0", "illegal move", "F8f7"),
        TCEC + "Black makes an illegal move: f8f7",
        Ending(ILLEGAL, WHITE, "Black makes an illegal move: f8f7"),
    ),
    (
        "TCEC season 15",
        tags("0-1", "abandoned", "White in infinite loop"),
        TCEC + "White in infinite loop",
        Ending(LEFT, BLACK, "White in infinite loop"),
    ),
    (
        "TCEC cup 1, a crash ruled a draw",
        tags(DRAW, "abandoned", "TCEC draw"),
        TCEC + "White disconnects",
        Ending(STOPPED, None, "TCEC draw"),
    ),
    (
        "TCEC season 15, a stall ruled a draw",
        tags(DRAW, "", "Manual adjudication"),
        TCEC + "Black's connection stalls",
        Ending(STOPPED, None, "Manual adjudication"),
    ),
    (
        "TCEC season 16, a crash ruled a draw",
        tags(DRAW, "adjudication", "Manual draw adjudication"),
        TCEC + "White disconnects",
        Ending(STOPPED, None, "Manual draw adjudication"),
    ),
    (
        "TCEC season 6, the loser on time won",
        tags("1-0", "manual adjudication", "manual adjudication"),
        TCEC + "White loses on time",
        Ending(GIVEN, WHITE, "manual adjudication"),
    ),
    (
        "TCEC match 4",
        tags("0-1", "GUI adjudication"),
        "Finalposition 8/8/8",
        Ending(GIVEN, BLACK, "GUI adjudication"),
    ),
    ("TCEC season 5", tags("1-0", "GUI TB Mate in 30"), "", Ending(GIVEN, WHITE, "GUI TB Mate in 30")),
    ("TCEC season 2", tags("0-1", "time"), "", Ending(TIME, BLACK, "time")),
    (
        "TCEC season 4",
        tags("1-0", "Chiron Stage 3 withdrawal"),
        "",
        Ending(LOST, WHITE, "Chiron Stage 3 withdrawal"),
    ),
    # lichess
    ("lichess", tags("1-0", "Normal"), "[%eval 3.1] [%clk 0:00:03]", Ending(RESIGNED, WHITE, "Normal")),
    ("lichess", tags("0-1", "Time forfeit"), "[%clk 0:00:00]", Ending(TIME, BLACK, "Time forfeit")),
    ("lichess", tags(DRAW, "Time forfeit"), "[%clk 0:00:00]", Ending(STOPPED, None, "Time forfeit")),
    ("lichess", tags(DRAW, "Normal"), "", Ending(STOPPED, None, "Normal")),
    ("lichess", tags(DRAW, "Insufficient material"), "", Ending(STOPPED, None, "Insufficient material")),
    ("lichess", tags("1-0", "Abandoned"), "", Ending(LEFT, WHITE, "Abandoned")),
    ("lichess", tags("0-1", "Rules infraction"), "", Ending(LOST, BLACK, "Rules infraction")),
    ("lichess", tags("*", "Unterminated"), "", Ending(STOPPED, None, "Unterminated")),
    ("lichess, annotated", tags("0-1", "Normal"), "White resigns.", Ending(RESIGNED, BLACK, "White resigns")),
    # chess.com
    (
        "chess.com",
        tags("1-0", "hikaru won by resignation"),
        "",
        Ending(RESIGNED, WHITE, "hikaru won by resignation"),
    ),
    ("chess.com", tags("0-1", "hikaru won on time"), "", Ending(TIME, BLACK, "hikaru won on time")),
    (
        "chess.com",
        tags("1-0", "hikaru won - game abandoned"),
        "",
        Ending(LEFT, WHITE, "hikaru won - game abandoned"),
    ),
    (
        "chess.com, a name",
        tags("0-1", "SyzygyTB won on time"),
        "",
        Ending(TIME, BLACK, "SyzygyTB won on time"),
    ),
    (
        "chess.com",
        tags(DRAW, "Game drawn by timeout vs insufficient material"),
        "",
        Ending(STOPPED, None, "Game drawn by timeout vs insufficient material"),
    ),
    # the PGN standard, and what servers and people write into comments
    ("standard", tags("1-0", "death"), "", Ending(LOST, WHITE, "death")),
    ("standard", tags("0-1", "ADJUDICATION"), "", Ending(GIVEN, BLACK, "ADJUDICATION")),
    ("standard", tags("1-0", "rules infraction"), "", Ending(LOST, WHITE, "rules infraction")),
    ("standard", tags(DRAW, "emergency"), "", Ending(STOPPED, None, "emergency")),
    ("FICS", tags("1-0"), "Black forfeits on time", Ending(TIME, WHITE, "Black forfeits on time")),
    (
        "FICS",
        tags(DRAW),
        "Black ran out of time and White has no material to mate",
        Ending(STOPPED, None, "Black ran out of time and White has no material to mate"),
    ),
    ("people", tags("0-1"), "Adjudicated after 60 moves!", Ending(GIVEN, BLACK, "")),
    ("people", tags("1-0"), "The tablebase win: 40...Kb7, see {there}", Ending(LOST, WHITE, "")),
    ("people", tags(DRAW), "if White resigns now it is 0-1", Ending(STOPPED, None, "")),
    # anything
    ("nothing", {}, "", Ending(STOPPED, None, "")),
    ("nothing said", tags(DRAW), "", Ending(STOPPED, None, "")),
    ("nothing said", tags("*"), "", Ending(STOPPED, None, "")),
    ("nothing said", tags("0-1"), "", Ending(LOST, BLACK, "")),
    ("nothing said", tags("0-1", "Unknown"), "", Ending(LOST, BLACK, "Unknown")),
    ("resigned, or so it is said", tags("0-1"), "White resigned", Ending(RESIGNED, BLACK, "White resigned")),
    ("normal, but how", tags("1-0", "normal"), "Black gives up", Ending(LOST, WHITE, "Black gives up")),
    ("texts contradict the result", tags("1-0"), "White resigns", Ending(LOST, WHITE, "")),
    ("texts contradict the result", tags("1-0", "Normal"), "White resigns", Ending(LOST, WHITE, "Normal")),
    (
        "texts contradict the result",
        tags("0-1", "", "Black loses on time"),
        "",
        Ending(LOST, BLACK, "Black loses on time"),
    ),
    ("score contradicts the result", tags("1-0", score="-G0.0"), "", Ending(LOST, WHITE, "")),
    (
        "texts contradict each other",
        tags(DRAW, "Black resigns"),
        "White resigns",
        Ending(STOPPED, None, "Black resigns"),
    ),
    (
        "texts agree",
        tags(DRAW, "", "BLACK LOSES ON TIME"),
        "Black resigns",
        Ending(RESIGNED, WHITE, "Black resigns"),
    ),
]


@pytest.mark.parametrize(
    ("given_tags", "comment", "ending"),
    [row[1:] for row in ROWS],
    ids=[f"{number}: {row[0]}" for number, row in enumerate(ROWS)],
)
def test_what_programs_write(given_tags: dict[str, str], comment: str, ending: Ending) -> None:
    assert read_ending(given_tags, comment) == ending


def test_a_sentence_may_be_wrapped_as_in_a_file() -> None:
    text = '[Result "1/2-1/2"]\n\n1. e4 {+0.48/9 0.003s,\nBlack makes an\nillegal move: e7e4} 1/2-1/2\n'
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    ending = read_ending(game.headers, game.end().comment)
    assert ending == Ending(ILLEGAL, WHITE, "Black makes an illegal move: e7e4")


def test_the_text_is_short_and_printable() -> None:
    ending = read_ending(tags("1-0", "ended\n by \x1b[31m" + "x" * 500))
    assert ending.text.startswith("ended by \N{REPLACEMENT CHARACTER}[31mxxx")
    assert len(ending.text) == 80
    assert ending.text.endswith("…")
    assert read_ending(tags("1-0", "x" * 80)).text == "x" * 80


PHRASES = st.sampled_from(
    sorted({text for _, row, comment, _ in ROWS for text in [*row.values(), comment, comment.upper()]})
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
    assert (ending.winner is None) == (ending.cause is STOPPED)
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


LONG = """
import itertools, sys
from tbgen.games.pgn.ending import read_ending
for noise, result in itertools.product(sys.argv[1:], ["1-0", "*"]):
    noise *= 25_000
    tags = {"Result": result, "Termination": noise, "TerminationDetails": noise + "."}
    print(read_ending(tags, noise + "!").cause)
"""


def test_long_texts_come_to_an_end() -> None:
    """A pattern whose time grew with the square of the text would take hours, and be given up."""
    noises = [", ", "white ", "Draw by: (", "won by ", "normal ", "White resigns: "]
    command = [sys.executable, "-c", LONG, *noises]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    expected = [[LOST, STOPPED]] * 5 + [[LOST, RESIGNED]]
    assert done.stdout.split("\n")[:-1] == [str(cause) for pair in expected for cause in pair]
