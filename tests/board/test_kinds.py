"""The kinds of men, compared with python-chess."""

import random

import chess

from tbgen.board.kinds import (
    FEN_LETTERS,
    KINDS,
    KING,
    MEN,
    MEN_LETTERS,
    PIECE_ORDER,
    PROMOTION_LETTERS,
    attacks,
    between,
    reach,
    ways,
)
from tbgen.board.material import described_kind
from tbgen.retro.geometry import ORTHODOX
from tests.support.paths import ROOT

NUMBERS = range(len(KINDS))


def test_men_attack_what_they_do_for_python_chess() -> None:
    for kind, name in enumerate(PIECE_ORDER):
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
    alfil, queen = described_kind("A"), KINDS[PIECE_ORDER.index("Q")]
    assert reach(alfil)[27] == sum(1 << square for square in (9, 13, 41, 45))
    assert between(alfil, 27, 45) == 0
    assert between(queen, 27, 45) == 1 << 36


def test_the_king_comes_first_and_is_no_promotion() -> None:
    assert PIECE_ORDER[KING] == "K"
    assert set(PROMOTION_LETTERS) == {"Q", "R", "B", "N"}
    for kind in NUMBERS:
        for square in range(64):  # nothing leaves the board
            for way in ways(KINDS[kind], square):
                assert set(way) <= set(range(64)) - {square}


SMALL = MEN_LETTERS.lower()
WORDS = ", ".join(man.word.upper() for man in MEN)
OWN_LISTS = {
    "tbgen/verify/geometry.py": [f"{WORDS} = range({len(MEN)})"],
    "tbgen/verify/game.py": [f'"{MEN_LETTERS}"'],
    "tbgen/verify/kernels/resets.py": [f"PROMOTIONS = {KINDS[-1].word.upper()}"],
    "native/tbgen.c": [f"enum {{ {WORDS}, KINDS,", f'"{MEN_LETTERS}"', f'"{FEN_LETTERS}") % {len(MEN)}'],
    "native/fuzz.c": [f'"{MEN_LETTERS}"'],
    "tbgen/board/rules.py": [f"+ {len(PROMOTION_LETTERS) - 1} * (pawn_targets"],
    "tbgen/packed/kernels/rows.py": [f"+ {len(PROMOTION_LETTERS) - 1} * popcount("],
    "tbgen/engine/compiled_search.py": [f'"{MEN_LETTERS[::-1]}{SMALL[::-1]}"'],
    "tbgen/web/page/board.js": [f'"{PROMOTION_LETTERS.lower()}"', f"/^[{SMALL}]$/i"],
    "tbgen/web/page/chessboard.js": [", ".join(f'{man.name.lower()}: "{man.word}"' for man in MEN)],
    "tbgen/web/page/men-plain.svg": [f'id="{side}{letter}"' for side in "wb" for letter in SMALL],
    "tbgen/web/page/index.html": [f"<dt>while setting up: {' '.join(MEN_LETTERS)}</dt>"],
    "tbgen/web/page/position.js": [f"[1-8{SMALL}]"],
    "tbgen/web/page/static/chess.js": [f'"{FEN_LETTERS}"'],
    "tbgen/web/page/static/draws.js": [f"[{MEN_LETTERS[1:]}]*K[{MEN_LETTERS[1:]}]*"],
    "tbgen/web/page/static/games.js": [f"([{PIECE_ORDER}]?)", f"([{PROMOTION_LETTERS}]?)"],
    "tbgen/web/page/static/tables.js": [f'"{MEN_LETTERS}"'],
    "scripts/compare_tablebases.py": [f'"{MEN_LETTERS[::-1]}"'],
    "tests/native/every.c": [f'"{FEN_LETTERS}") % {len(MEN)}'],
    "tests/packed/test_format.py": [f'"K{PROMOTION_LETTERS[::-1]}"'],
    "tests/support/document_reader.py": [f'"{MEN_LETTERS}"'],
    "tests/support/reference_moves.py": [f'"{PROMOTION_LETTERS}"'],
}
"""The lists of men, and numbers of promotions, that do not follow from the kinds, as the files have them."""


def test_other_lists_of_men_have_every_man() -> None:
    """The proof, the C library, the compiled engine, the page and some tests have their own moves."""
    missing = [
        f"{name} lacks {text}"
        for name, texts in OWN_LISTS.items()
        for text in texts
        if text not in (ROOT / name).read_text()
    ]
    assert not missing, "\n".join(missing)
    for man in MEN:
        assert man.word == chess.piece_name(chess.PIECE_SYMBOLS.index(man.name.lower()))
        figurines = [chess.UNICODE_PIECE_SYMBOLS[letter] for letter in (man.name, man.name.lower())]
        assert "".join(figurines) == man.figurines
