"""Reading of PGN: tags, start positions, main lines, and errors of broken games."""

import io

from tbgen.games.pgn.reader import Game, read_games

GOOD = """\
[Event "one"]
[White "A"]
[Result "1/2-1/2"]

1. e4 {book} e5 (1... c5 2. Nf3 {not this}) 2. Nf3 $1 Nc6 {+0.1/9 1s, Draw by adjudication} 1/2-1/2
"""


def games_of(text: str) -> list[Game]:
    return list(read_games(io.BytesIO(text.encode())))


def moves(game: Game) -> str:
    return " ".join(move.uci() for move in game.moves)


def test_the_main_line() -> None:
    one, two = games_of(
        GOOD + "\n" + GOOD.replace('"1/2-1/2"', '"*"').replace("e4", "d4").replace("e5", "d5", 1)
    )
    assert (one.number, one.line, two.number, two.line) == (1, 1, 2, 7)
    assert list(one.tags.items()) == [("Event", "one"), ("White", "A"), ("Result", "1/2-1/2")]
    assert moves(one) == "e2e4 e7e5 g1f3 b8c6"
    assert moves(two) == "d2d4 d7d5 g1f3 b8c6"
    assert one.comment == "+0.1/9 1s, Draw by adjudication"
    assert (one.result, two.result) == ("1/2-1/2", "1/2-1/2")
    assert one.error is two.error is None


def test_seventh_fields_and_tags_without_value() -> None:
    fen = "8/8/8/8/3k4/8/2B5/K7 w - - 31 60"
    seventh, tag, junk = games_of(
        f'[FEN "{fen} -G2.5"]\n[Legacy]\n\n1. Ka2 *\n\n'
        f'[FEN "{fen}"]\n[FENAccrued "-G2.5"]\n\n1. Ka2 *\n\n[FEN "{fen} junk"]\n\n1. Ka2 *\n'
    )
    assert seventh.tags == {"FEN": f"{fen} -G2.5", "Legacy": ""}
    assert str(seventh.start.accrued) == str(tag.start.accrued) == "-G2.5"
    assert seventh.start.board.fen() == tag.start.board.fen() == fen
    assert moves(seventh) == moves(tag) == "a1a2"
    assert str(junk.error).startswith("game 3, line 11: 'junk' is not a G-score")


def test_broken_games_say_where() -> None:
    for text, plies, sentence in (
        ("1. e4 e5\n2. Nf3 Ke6 3. Nc3 *\n", 3, "game 1, line 2, ply 4: 'Ke6' is not a legal move"),
        (
            '[FEN "8/8/8/8/8/8/8/K7 w - - 0 1"]\n\n*\n',
            0,
            "game 1, line 1: Black has no king; each side needs",
        ),
        ('[FEN "nonsense"]\n\n*\n', 0, "game 1, line 1: 'nonsense' is not a FEN"),
        ('[Variant "Atomic"]\n\n1. e4 *\n', 0, "game 1, line 1: the variant 'Atomic' is not refereed here"),
        (
            '[Variant "Bughouse 3000"]\n\n*\n',
            0,
            "game 1, line 1: the variant 'Bughouse 3000' is not refereed",
        ),
    ):
        broken, sound = games_of(text + "\n" + GOOD)
        assert str(broken.error).startswith(sentence)
        assert len(broken.moves) == plies
        assert (moves(sound), sound.error) == ("e2e4 e7e5 g1f3 b8c6", None)


def test_chess960() -> None:
    (game,) = games_of('[Variant "Chess960"]\n[FEN "1k5r/8/8/8/8/8/8/1K5R w H - 0 1"]\n\n1. O-O Kc7 *\n')
    assert game.error is None
    assert (moves(game), game.board.board_fen()) == ("b1h1 b8c7", "7r/2k5/8/8/8/8/8/5RK1")
    (inner,) = games_of('[FEN "1k6/8/8/8/8/8/8/R1K4R w A - 0 1"]\n\n1. O-O-O Ka8 *\n')
    assert inner.error is None
    assert (moves(inner), inner.board.board_fen()) == ("c1a1 b8a8", "k7/8/8/8/8/8/8/2KR3R")


def test_a_long_line_takes_linear_time() -> None:
    """Blocks are joined once: a line of 64 blocks takes 64 steps, not 64 * 63 / 2."""
    joined = 0

    class Counting(bytes):
        def __add__(self, other: bytes) -> bytes:
            nonlocal joined
            joined += len(self) + len(other)
            return bytes(self) + other

    class Stream:
        left = 64

        def read(self, size: int, /) -> bytes:
            self.left -= 1
            return Counting(b"x" * 1000) if self.left >= 0 else b""

    (game,) = read_games(Stream())
    assert game.error is not None
    assert joined < 100_000


def test_nothing_at_all() -> None:
    assert games_of("") == games_of("\n\n% comment\n") == []
