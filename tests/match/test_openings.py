"""Openings from files, in order and at random; start positions of Chess960."""

import gzip
import struct
from pathlib import Path

import chess
import chess.polyglot

from tbgen.board.variant import Variant
from tbgen.games.game_options import GameOptions
from tbgen.match.openings import OpeningOrder, OpeningPolicy, Openings, OpeningSettings, StartKind
from tests.support.paths import DATA
from tests.support.refusals import refusal

OPTIONS = GameOptions(Variant.R_MOBILITY)
EPD = (DATA / "openings.epd").read_text()
PGN = (DATA / "openings.pgn").read_text()


def openings(file: Path | None = None, seed: int = 0, variant: str = "standard", **more: object) -> Openings:
    settings = None if file is None else OpeningSettings(file, **more)  # type: ignore[arg-type]
    return Openings(settings, StartKind(variant), seed, OPTIONS)


def test_positions_of_epd_files(tmp_path: Path) -> None:
    file = tmp_path / "book.epd"
    file.write_text(EPD)
    found = openings(file)
    assert [found[at].start.board.fen() for at in range(4)] == [
        "8/8/8/4KBk1/8/8/8/8 b - - 3 9",
        "8/8/5k1K/5P2/8/8/8/8 w - - 1 60",
        chess.STARTING_FEN,
        "8/8/8/4KBk1/8/8/8/8 b - - 3 9",  # from the beginning again
    ]
    assert str(found[1].start.accrued) == "-G2.5"
    assert (found.one_per_round, openings(file, policy=OpeningPolicy.ROUND).one_per_round) == (False, True)
    assert openings(file, start=2)[0].text == found[1].text


def test_doubts_about_start_positions_are_reported(tmp_path: Path) -> None:
    """In EPD and PGN, with the number of openings: en passant squares, and scores that have been reset."""
    fens = [f"4k3/8/8/8/8/8/4P3/4K3 w - {square}" for square in ("e6 1 1", "- 1 1", "- 0 1 G2.5")]
    for name, text in (
        ("a.epd", "\n".join(fens)),
        ("a.pgn", "".join(f'[FEN "{fen}"]\n\n1. e4 *\n\n' for fen in fens)),
    ):
        (tmp_path / name).write_text(text)
        notes: list[str] = []
        found = openings(tmp_path / name)
        assert not found.check(3, notes.append)
        assert [found[at].start.board.fen() for at in range(2)] == [fens[1]] * 2
        assert len(notes) == 2
        assert notes[0].startswith("1 opening: no pawn can just have passed")
        assert notes[1].startswith("1 opening: the score of a FEN's seventh field")


def test_games_of_pgn_files(tmp_path: Path) -> None:
    file = tmp_path / "book.pgn.gz"
    file.write_bytes(gzip.compress(PGN.encode()))
    found = openings(file, plies=3)
    assert [move.uci() for move in found[0].moves] == ["e2e4", "e7e5", "g1f3"]
    assert (found[0].komi, found[1].komi) == ("G3.75", "")
    assert found[1].start.board.fen() == "8/8/8/4KBk1/8/8/8/8 b - - 3 9"
    assert (str(found[1].start.accrued), len(found[1].moves)) == ("G4.0", 2)
    assert openings(file, plies=0)[0].moves == ()


def test_openings_are_drawn_from_a_book_of_polyglot(tmp_path: Path) -> None:
    """By weight and seed, as long as the book has moves; e4 has three times the weight of d4."""
    file, board = tmp_path / "book.bin", chess.Board()
    entries = [(board, "e2e4", 30), (board, "d2d4", 10)]
    board = board.copy()
    board.push_uci("e2e4")
    entries.append((board, "c7c5", 1))
    rows = []
    for start, uci, weight in entries:
        move = chess.Move.from_uci(uci)
        raw = move.to_square | move.from_square << 6
        rows.append((chess.polyglot.zobrist_hash(start), raw, weight, 0))
    file.write_bytes(b"".join(struct.pack(">QHHI", *row) for row in sorted(rows)))
    found, other = openings(file), openings(file, seed=1)
    lines = [" ".join(move.uci() for move in found[at].moves) for at in range(200)]
    assert {*lines} == {"e2e4 c7c5", "d2d4"}
    assert 130 < lines.count("e2e4 c7c5") < 170
    assert lines == [" ".join(move.uci() for move in openings(file)[at].moves) for at in range(200)]
    assert lines != [" ".join(move.uci() for move in other[at].moves) for at in range(200)]
    shorter = openings(file, plies=1)
    assert {len(shorter[at].moves) for at in range(9)} == {1}
    assert len({found.digest, shorter.digest, openings().digest}) == 3
    assert not found.check(9)


def test_a_random_order_depends_on_the_seed(tmp_path: Path) -> None:
    file = tmp_path / "book.epd"
    file.write_text("\n".join([f"8/8/8/{at}K{7 - at}/8/8/8/k7 w - - 0 1" for at in range(1, 7)]))
    orders = [
        [openings(file, seed, order=OpeningOrder.RANDOM)[at].text for at in range(6)] for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(openings(file)[at].text for at in range(6))
    digests = [openings(file, seed, order=OpeningOrder.RANDOM).digest for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_invalid_openings(tmp_path: Path) -> None:
    for name, text, expected in (
        ("a.epd", "8/8/8/8/8/8/8/K1k5 w - - 0 1\nnonsense\n", "a.epd, line 2: 'nonsense' is not a FEN"),
        ("b.epd", "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1\n", "b.epd, line 1: the game would be over"),
        ("c.epd", "\n# nothing\n", "there is no opening"),
        ("a.pgn", "1. e4 Ke4 *\n", "a.pgn: game 1, line 1, ply 2: 'Ke4' is not a legal move"),
        ("b.pgn", "1. e4 {best e5 *\n", "b.pgn: game 1, line 1: a comment has no closing brace"),
        ("c.pgn", "1. f3 e5 2. g4 Qh4# 0-1\n", "c.pgn, game 1: the game would be over"),
        ("a.txt", "8/8/8/8/8/7k/8/KQ6 w - - 100 90\n", "by fifty-move rule"),
        ("none.epd", None, "does not exist"),
        ("a.BIN", "\0", "a.BIN' cannot be read as a book of Polyglot: invalid file size"),
        ("b.bin", "\0" * 16, "there is no move in the initial position in "),
        ("a.ctg", "\0", "a.ctg' is an opening book of ChessBase, which cannot be read: give openings as "),
        ("d.epd", "PK\3\4 and more", "d.epd is a zip archive: unpack it, and name a file from it"),
        ("e.epd", "PK\5\6", "e.epd is a zip archive"),
        ("f.epd", "\0" * 257 + "ustar", "f.epd is a tar archive"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        assert expected in refusal(lambda name=name: openings(tmp_path / name).check(2)), name


def test_random_start_positions() -> None:
    """Positions of Chess960 are mirrored, those of double Fischer random rarely; all are valid ones."""
    known = {chess.Board.from_chess960_pos(number).board_fen() for number in range(960)}
    for variant in ("fischerandom", "dfrc"):
        boards = [openings(variant=variant)[at].start.board for at in range(20)]
        assert all(board.is_valid() for board in boards)
        rows = [board.board_fen().split("/") for board in boards]
        assert all("/".join([row[7].lower(), *row[1:]]) in known for row in rows)
        assert all("/".join([*row[:7], row[0].upper()]) in known for row in rows)
        mirrored = sum(row[0] == row[7].lower() for row in rows)
        assert mirrored == 20 if variant == "fischerandom" else mirrored < 3
        assert len({board.fen() for board in boards}) > 15
        assert all(board.clean_castling_rights().bit_count() == 4 for board in boards)
    assert openings(variant="dfrc")[7].text == openings(variant="dfrc")[7].text
    assert openings(variant="dfrc")[7].text != openings(variant="dfrc", seed=1)[7].text
