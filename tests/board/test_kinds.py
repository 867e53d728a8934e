"""The kinds of men, compared with python-chess."""

import random

import chess

from tbgen.board import kinds
from tbgen.board.kinds import KIND_LETTERS, KINDS, KING, MEN, MEN_LETTERS, attacks, between, reach, ways
from tbgen.board.material import described_kind
from tbgen.moves.geometry import ORTHODOX
from tests.support.paths import ROOT, rows

NUMBERS = range(len(KINDS))


def test_men_attack_what_they_do_for_python_chess() -> None:
    for kind, name in enumerate(KIND_LETTERS):
        generator = random.Random(kind)
        for square in range(64):
            board = chess.BaseBoard(None)
            board.set_piece_at(square, chess.Piece.from_symbol(name))
            assert reach(KINDS[kind])[square] == board.attacks_mask(square), name
            for _ in range(8):
                crowded = board.copy()
                for other in generator.sample(range(64), 12):
                    if other != square:
                        crowded.set_piece_at(other, chess.Piece(chess.PAWN, chess.BLACK))
                assert attacks(KINDS[kind], square, crowded.occupied) == crowded.attacks_mask(square), name


def test_what_stands_in_between_is_in_the_way() -> None:
    for kind in NUMBERS:
        for start in range(64):
            for stop in range(64):
                reached = KINDS[kind].rides and reach(KINDS[kind])[start] >> stop & 1
                passed = between(KINDS[kind], start, stop)
                assert passed == (chess.between(start, stop) if reached else 0), (kind, start, stop)
                assert ORTHODOX.passed_squares[kind, start, stop] == passed, (kind, start, stop)


def test_a_leap_passes_nothing_where_a_queen_would() -> None:
    alfil, queen = described_kind("A"), KINDS[KIND_LETTERS.index("Q")]
    assert reach(alfil)[27] == sum(1 << square for square in (9, 13, 41, 45))
    assert between(alfil, 27, 45) == 0
    assert between(queen, 27, 45) == 1 << 36


def test_the_king_comes_first_and_is_no_promotion() -> None:
    assert KIND_LETTERS[KING] == "K"
    assert set(kinds.PROMOTION_LETTERS) == {"Q", "R", "B", "N"}
    for kind in NUMBERS:
        for square in range(64):  # nothing leaves the board
            for way in ways(KINDS[kind], square):
                assert set(way) <= set(range(64)) - {square}


def test_other_lists_of_men_have_every_man() -> None:
    """The proof, the C library, the page and some tests have lists of their own."""
    words, small, promoted = [man.noun for man in MEN], MEN_LETTERS.lower(), kinds.PROMOTION_LETTERS
    names = {
        **{"WORDS": ", ".join(words).upper(), "LAST": words[-2].upper(), "last": small[-2]},
        **{"words": ", ".join(f'{letter}: "{word}"' for letter, word in zip(small, words, strict=True))},
        **{"reversed": MEN_LETTERS[::-1], "small": small},
        **{"small_promotions": promoted.lower(), "promotions_reversed": promoted[::-1]},
        **{"spaced": " ".join(MEN_LETTERS), "count": len(MEN), "more": len(promoted) - 1},
    }
    lists = [(name, text.format_map(vars(kinds) | names)) for name, text in rows("lists_of_men.txt", " -> ")]
    missing = [f"{name} lacks {text}" for name, text in lists if text not in (ROOT / name).read_text()]
    assert not missing, "\n".join(missing)
    for man in MEN:
        assert man.noun == chess.piece_name(chess.PIECE_SYMBOLS.index(man.name.lower()))
        assert [*man.figurines] == [
            chess.UNICODE_PIECE_SYMBOLS[letter] for letter in man.name + man.name.lower()
        ]
