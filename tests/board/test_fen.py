"""Parsing of FENs in common variations: underscores, EPD, dashes of word processors."""

import chess
from hypothesis import given
from hypothesis import strategies as st

from tbgen.board.fen import parse_fen
from tbgen.errors import UsageError
from tests.support.paths import rows
from tests.support.refusals import refusal

PLACED = "8/8/5k1K/5P2/8/8/8/8 w - -"
MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"


def test_what_is_read() -> None:
    for text, clocks, accrued in (
        (f"{PLACED} 1 60 -G2.5", "1 60", "-G2.5"),
        (f"{PLACED} 1 60 {MINUS}G2.5", "1 60", "-G2.5"),
        (f"{PLACED} 1 60 {DASH}G2.5".replace("- -", f"\N{EM DASH} {MINUS}"), "1 60", "-G2.5"),
        (f"{PLACED} 1 60 -G2.5".replace(" ", "_"), "1 60", "-G2.5"),
        (f"{PLACED} 1 60".replace(" ", "_") + " -G2.5", "1 60", "-G2.5"),
        (f"{PLACED} 1 60;".replace(" ", "_"), "1 60", "None"),
        (PLACED.replace(" ", "_"), "0 1", "None"),
        (PLACED.removesuffix(" -") + ";", "0 1", "None"),
        *((f"{PLACED}{rest}", clocks, accrued) for rest, clocks, accrued in rows("epd_ends.txt", " -> ")),
    ):
        parsed = parse_fen(text)
        assert (parsed.board.fen(), str(parsed.accrued)) == (f"{PLACED} {clocks}", accrued), text
        assert vars(parsed.board) == vars(chess.Board(f"{PLACED} {clocks}")), text


def test_what_is_refused() -> None:
    for text, sentence in (
        (";", "is not a FEN: expected pieces"),
        ("8/8/8/8/8/8/8/8 w; 5", "is not an EPD"),
        (f"{PLACED} 5; bm Kh7;", "is not an EPD"),
        (f"{PLACED} hmvc 7 fmvn 60; 7", "is not an EPD"),
        (f'{PLACED} id "never closed;', "is not an EPD"),
        (f"{PLACED} hmvc x;", "the halfmove clock 'x' is not a whole number from 0; expected"),
        (f"{PLACED} fmvn;", "the move number '' is not a whole number"),
        (f"{PLACED} hmvc 12345678901;", "is too large"),
        (f"{PLACED} 1 60 {MINUS}G2.6", "is not a G-score"),
        (f"{PLACED}_0_1", "invalid en passant"),
        (f"{PLACED} 1.5 1", "the halfmove clock '1.5' is not a whole number"),
        (f"{PLACED} 3 -5", "the move number '-5' is not a whole number from 0"),
        (f"{PLACED} \N{FULLWIDTH DIGIT ONE} 60", "is not a whole number"),
        ("_", "is not a FEN"),
    ):
        assert sentence in refusal(parse_fen, text), text
    # Only the last fields may be left out, and the sentence says which those are.
    for missing in range(6):
        fields = [*PLACED.split(), "3", "60", "G3.5"]
        del fields[missing]
        told = "expected pieces and side to move, then optionally"
        assert told in refusal(parse_fen, " ".join(fields)), missing


@given(st.text('KkQq/8w -_;"\\\n01hmvcfmvn' + MINUS + DASH, max_size=60))
def test_no_text_gives_another_error(text: str) -> None:
    for start in ("", f"{PLACED} ", f"{PLACED.replace(' ', '_')}_"):
        try:
            parse_fen(start + text)
        except UsageError:
            assert refusal(parse_fen, start + text)


def test_when_a_fen_counts_as_chess960() -> None:
    for men, rights, castling in (
        ("4K2R", "K", "e1g1"),
        ("4K2R", "H", "e1g1"),  # rights as Shredder writes them, and a position of chess nevertheless
        ("4K1R1", "K", "e1g1"),
        ("5K1R", "H", "f1h1"),
        ("4KR1R", "F", "e1f1"),
    ):
        board = parse_fen(f"4k3/8/8/8/8/8/8/{men} w {rights} - 0 1").board
        assert board.chess960 == (men != "4K2R"), men
        assert [move.uci() for move in board.generate_castling_moves()] == [castling], men
