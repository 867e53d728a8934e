"""Packed tables can be read from docs/format.md alone, with h5py, numpy and python-chess."""

import binascii
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import chess
import h5py
import numpy as np

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.store.format import table_path
from tests.support.document_reader import (
    FRESH,
    NONE,
    TRIANGLE,
    Men,
    check_manifest,
    look_up,
    manifest_facts,
    manifest_line,
    name_of,
    rank,
    slot_of,
    swap_colours,
)
from tests.support.exhaustive import sample
from tests.support.packed_tables import PackedTables
from tests.support.random_boards import en_passant_board, random_board

R = Variant.R_MOBILITY
Goal = tuple[int, int]


class Loaded(dict[str, Any]):
    """A file whose datasets are read at first use and cached."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.file = h5py.File(path, locking=False)
        self.filename, self.attrs = self.file.filename, dict(self.file.attrs)

    def __missing__(self, name: str) -> Any:
        self[name] = self.file[name][...]
        return self[name]


def men_of(board: chess.Board) -> Men:
    return [(piece.symbol(), square) for square, piece in board.piece_map().items()]


def position_score(board: chess.Board) -> int:
    """Code of the position score."""
    score_rank = 2 * board.legal_moves.count() + (not board.is_check())
    return 255 - score_rank if board.turn else score_rank


def best(board: chess.Board, codes: Iterable[int]) -> int:
    return min(codes) if board.turn else max(codes)


def after(board: chess.Board, move: chess.Move) -> chess.Board:
    child = board.copy(stack=False)
    child.push(move)
    return child


@cache
def intervals(shares: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """The symbols of a context, each with the lower bound and the size of its interval."""
    order = sorted(range(len(shares)), key=lambda symbol: (-shares[symbol], symbol))
    begins = itertools.accumulate((shares[symbol] for symbol in order), initial=0)
    return [(symbol, begin, shares[symbol]) for symbol, begin in zip(order, begins, strict=False)]


class Decoder:
    """The state of one block's bytes."""

    def __init__(self, data: bytes) -> None:
        self.state, self.bytes = int.from_bytes(data[:3], "big"), data[3:]

    def symbol(self, shares: Any) -> int:
        r = self.state % 4096
        known = intervals(tuple(shares.tolist()))
        symbol, begin, share = next(one for one in known if one[1] <= r < one[1] + one[2])
        self._take(begin, share)
        return symbol

    def byte(self) -> int:
        byte = self.state % 4096 // 16
        self._take(16 * byte, 16)
        return byte

    def _take(self, begin: int, share: int) -> None:
        self.state = share * (self.state // 4096) + self.state % 4096 - begin
        while self.state < 65536 and self.bytes:
            self.state, self.bytes = 256 * self.state + self.bytes[0], self.bytes[1:]


Neighbour = tuple[int, int, int]
"""Value symbol, half depth and function."""


class Packed:
    """A packed table, with a directory of its plain sub-tables."""

    def __init__(self, path: Path, tables: Path) -> None:
        self.file, self._tables = Loaded(path), tables
        self._others: dict[str, Loaded] = {}
        self._blocks: dict[int, dict[int, Neighbour]] = {}
        self.met: Counter[str] = Counter()
        attributes = self.file.attrs
        self.name = bytes(attributes["material"]).decode()
        self.letters = bytes(attributes["free_men"]).decode().split()
        self.pawns = bytes(attributes["pawns"]).decode().split()
        self.whole_game = bytes(attributes["rules"]) == b"wg"
        self.stored, self.phase_size = int(attributes["stored_side"]), int(attributes["phase_size"])
        white, black = (
            [man for man, letter in enumerate(self.letters) if letter.isupper() == first]
            for first in (True, False)
        )
        first, last = (black, white) if self.stored == 0 else (white, black)
        self.order = [*self._sorted(first), *self._sorted(last)]

    def _sorted(self, men: list[int]) -> list[int]:
        """The men of one side: its king, then knights before sliders."""
        return sorted(men, key=lambda man: ("KNBRQ".index(self.letters[man].upper()), man))

    def squares(self, slot: int) -> tuple[int, list[int]]:
        """Phase and squares of the free men of a slot."""
        phase, rest = divmod(slot, self.phase_size)
        found = []
        for _ in self.letters[1:]:
            rest, square = divmod(rest, 64)
            found.append(square)
        return phase, [rest if self.pawns else TRIANGLE[rest], *reversed(found)]

    def _digit(self, man: int, square: int) -> tuple[int, int]:
        """A digit of a row's number, and its radix."""
        return (TRIANGLE.index(square), 10) if man == 0 and not self.pawns else (square, 64)

    def row_of(self, slot: int) -> int:
        number, squares = self.squares(slot)
        for man in self.order[:-1]:
            digit, radix = self._digit(man, squares[man])
            number = number * radix + digit
        return number

    def positions_of(self, row: int) -> Iterator[tuple[int, int, chess.Board]]:
        """Square of the row man, slot and board of a row's positions."""
        squares = [0] * len(self.letters)
        for man in reversed(self.order[:-1]):
            _, radix = self._digit(man, 0)
            row, digit = divmod(row, radix)
            squares[man] = TRIANGLE[digit] if radix == 10 else digit
        for square in range(64):
            squares[self.order[-1]] = square
            men = self.men_of(row, squares)
            if len({s for _, s in men}) == len(men):
                board = self.board_of(men, self.stored)
                slot = TRIANGLE.index(squares[0]) if not self.pawns else squares[0]
                for other in squares[1:]:
                    slot = slot * 64 + other
                slot += row * self.phase_size
                if not board.was_into_check() and slot == slot_of(self.file, men)[0]:
                    yield square, slot, board

    def men_of(self, phase: int, squares: list[int]) -> Men:
        pawns = self.file["placements"][phase].tolist()
        return [*zip(self.letters, squares, strict=True), *zip(self.pawns, pawns, strict=True)]

    @staticmethod
    def board_of(men: Men, side: int) -> chess.Board:
        board = chess.Board(None)
        board.turn = side == 0
        for letter, square in men:
            board.set_piece_at(square, chess.Piece.from_symbol(letter))
        return board

    @cached_property
    def exceptions(self) -> dict[int, int]:
        """Numbers of the exceptions, by slot of the derived side."""
        found, slot = dict[int, int](), -1
        for step in self.file["exception/step"].tolist():
            slot += step if step == 65535 else step + 1
            if step != 65535:
                found[slot] = len(found)
        return found

    def block(self, number: int) -> dict[int, Neighbour]:
        """Value symbol, half depth and function of every position of a block, by slot."""
        if number not in self._blocks:
            self._blocks[number] = self._decode(number)
        return self._blocks[number]

    def _bytes(self, kind: str, number: int) -> bytes:
        length, begin = self.file[f"{kind}/length"], self._begins[kind][number]
        data = self.file[f"{kind}/data"][begin : begin + int(length[number])].tobytes()
        assert binascii.crc_hqx(data, 0xFFFF) == self.file[f"{kind}/check"][number]
        return data

    @cached_property
    def _begins(self) -> dict[str, list[int]]:
        kinds = ["fresh", "accrued"] if self.file.attrs["accrued"] else ["fresh"]
        return {kind: np.cumsum([0, *self.file[f"{kind}/length"].tolist()]).tolist() for kind in kinds}

    def _decode(self, number: int) -> dict[int, Neighbour]:
        fresh, found = Decoder(self._bytes("fresh", number)), {}
        rows = [list(self.positions_of(row)) for row in range(16 * number, 16 * number + 16)]
        hints = {slot: self._hints(board) for row in rows for _, slot, board in row}
        above: dict[int, Neighbour] = {}
        for row in rows:
            left: Neighbour | None = None
            for square, slot, _ in row:
                up = above.get(square)
                context = 1024 * hints[slot] + 32 * class_of(left, 0, 30) + class_of(up, 0, 30)
                s = fresh.symbol(self.file["fresh/value_share"][context])
                h = 0
                if s >= 2:
                    context = 385 * min(s, 15) + depth_context(s, left, up)
                    h = fresh.symbol(self.file["fresh/depth_share"][context])
                    if h == 255:
                        h = fresh.byte() + 256 * fresh.byte()
                        self.met["deep"] += 1
                above[square] = left = found[slot] = (s, h, 0)
        assert not fresh.bytes
        assert fresh.state == (65536 if found else 0)
        if self.file.attrs["accrued"]:
            accrued, above = Decoder(self._bytes("accrued", number)), {}
            for row in rows:
                left = None
                for square, slot, _ in row:
                    s, h, _ = found[slot]
                    context = 100 * min(s, 15) + 10 * class_of(left, 2, 8) + class_of(above.get(square), 2, 8)
                    function = accrued.symbol(self.file["accrued/share"][context])
                    if function == 255:
                        bytes_ = 2 if len(self.file["accrued/start"]) - 1 <= 65536 else 4
                        function = sum(accrued.byte() << 8 * byte for byte in range(bytes_))
                        self.met["escape"] += 1
                    above[square] = left = found[slot] = (s, h, function)
            assert not accrued.bytes
            assert accrued.state == (65536 if found else 0)
        return found

    @staticmethod
    def _hints(board: chess.Board) -> int:
        enemies = board.occupied_co[not board.turn] & ~board.kings
        attacks = any(board.is_attacked_by(board.turn, square) for square in chess.scan_forward(enemies))
        return 2 * board.is_check() + attacks

    def fresh(self, board: chess.Board) -> Goal:
        """W and D of a position of this table or of another."""
        men, score = men_of(board), position_score(board)
        if rank(score) < 2:
            return score, 0
        ep_square = board.ep_square if board.has_legal_en_passant() else None
        if self.name not in (name_of(men), name_of(swap_colours(men))):
            return look_up(self._other(men), men, board.turn, score, None, ep_square)
        if name_of(men) != self.name:
            code, depth = self.fresh(board.mirror())
            return 255 - code, depth
        slot, mirrored = slot_of(self.file, men)
        if ep_square is not None:
            phase, within = divmod(slot, self.phase_size)
            target = ep_square ^ 7 if mirrored else ep_square
            (row,) = np.flatnonzero((self.file["ep/config"] == [phase, target]).all(axis=1))
            return int(self.file["ep/value"][row, within]), int(self.file["ep/depth"][row, within])
        if board.turn == (self.stored == 0):
            return self._stored(board, slot, score)
        return self._derived(board, slot, score)

    def _symbols(self, slot: int) -> Neighbour:
        return self.block(self.row_of(slot) // 16)[slot]

    def _other(self, men: Men) -> Loaded:
        variant = Variant.WHOLE_GAME if self.whole_game else Variant.R_MOBILITY
        for name in (name_of(men), name_of(swap_colours(men))):
            path = table_path(self._tables, name, variant)
            if path.exists():
                if name not in self._others:
                    self._others[name] = Loaded(path)
                return self._others[name]
        raise AssertionError(men)

    def _stored(self, board: chess.Board, slot: int, score: int) -> Goal:
        s, h, _ = self._symbols(slot)
        if s == 0:
            self.met["SELF"] += 1
            return score, 0
        if s == 1:
            self.met["CAPTURE"] += 1
            reached = [self.fresh(after(board, move)) for move in board.generate_legal_captures()]
            value = best(board, [code for code, _ in reached])
            depths = [depth for code, depth in reached if code == value]
            better = value != score and best(board, [value, score]) == value
            return value, 1 + (min(depths) if better else max(depths))
        value = int(self.file["fresh/code"][s])
        white_holds = value < 127
        self.met["value"] += 1
        return value, 2 * h + (white_holds == board.turn)

    def _derived(self, board: chess.Board, slot: int, score: int) -> Goal:
        if (place := self.exceptions.get(slot)) is not None:
            self.met["exception"] += 1
            return int(self.file["exception/value"][place]), int(self.file["exception/depth"][place])
        counting, all_count = [], True
        for move in board.legal_moves:
            child = after(board, move)
            if board.is_zeroing(move):
                counting.append(self.fresh(child))
                continue
            score_after = position_score(child)
            there, _ = slot_of(self.file, men_of(child))
            symbol = self._symbols(there)[0]
            if symbol == 1:
                continue
            value, depth = self._stored(child, there, score_after)
            if rank(score_after) < rank(score) or rank(value) < rank(score):
                counting.append((value, depth))
            else:
                all_count = False
        if not counting:
            return score, 0
        value = best(board, [code for code, _ in counting])
        depths = [depth for code, depth in counting if code == value]
        if value != score and best(board, [value, score]) == value:
            self.met["better"] += 1
            return value, min(depths) + 1
        if value != score and all_count:
            self.met["worse"] += 1
            return value, max(depths) + 1
        self.met["stays"] += 1
        return score, 0

    def of(self, board: chess.Board, accrued: int | None) -> tuple[int, int | None]:
        """Value with an accrued score, and the depth in plies, None if it is not stored."""
        score = position_score(board)
        value, depth = self.fresh(board)
        if rank(score) < 2 or (board.has_legal_en_passant() and not self.whole_game):
            return value, depth
        if accrued is None or rank(score) < rank(accrued):
            accrued = score
        if self.whole_game:
            return (value, depth) if rank(value) < rank(accrued) else (accrued, 0)
        if accrued == score or rank(accrued) > rank(value):
            return value, depth
        found = self._accrued(board, accrued, value)
        return found, 0 if found == accrued else None

    def _accrued(self, board: chess.Board, accrued: int, fresh: int) -> int:
        men = men_of(board)
        if name_of(men) != self.name:
            return 255 - self._accrued(board.mirror(), 255 - accrued, 255 - fresh)
        if board.turn == (self.stored == 0):
            slot, _ = slot_of(self.file, men)
            return self._of_function(self._symbols(slot)[2], accrued, fresh)
        found = []
        for move in board.legal_moves:
            child = after(board, move)
            found.append(self.fresh(child)[0] if board.is_zeroing(move) else self.of(child, accrued)[0])
        return best(board, found)

    def _of_function(self, number: int, accrued: int, fresh: int) -> int:
        begin, end = self.file["accrued/start"][number : number + 2].tolist()
        entries = [
            (int(self.file["accrued/from"][entry]), int(self.file["accrued/value"][entry]))
            for entry in range(begin, end)
        ]
        counting = [v for a, v in entries if (a < 127) == (accrued < 127) and rank(a) <= rank(accrued)]
        self.met["function"] += 1
        if not counting or counting[-1] == NONE:
            return accrued
        return fresh if counting[-1] == FRESH else counting[-1]


reader_of = cache(Packed)


def class_of(neighbour: Neighbour | None, part: int, most: int) -> int:
    """A neighbour's value symbol (part 0) or function (2) in a context."""
    return most + 1 if neighbour is None else min(neighbour[part], most)


def depth_context(s: int, left: Neighbour | None, up: Neighbour | None) -> int:
    halves = [neighbour[1] for neighbour in (left, up) if neighbour and neighbour[0] == s]
    if not halves:
        return 384
    if len(halves) == 1:
        return 320 + min(halves[0], 63)
    apart = abs(halves[0] - halves[1])
    n = apart if apart < 3 else 3 if apart < 6 else 4
    return 5 * min((sum(halves) + 1) // 2, 63) + n


def agree(reader: Packed, plain: Loaded, board: chess.Board, scores: Iterable[int | None]) -> None:
    """A position and accrued scores looked up in both forms."""
    score = position_score(board)
    ep_square = board.ep_square if board.has_legal_en_passant() else None
    for accrued in scores:
        value, depth = look_up(plain, men_of(board), board.turn, score, accrued, ep_square)
        found = reader.of(board, accrued)
        assert found in ((value, depth), (value, None)), (board.fen(), accrued)
        assert accrued is not None or found[1] is not None


def test_positions_with_accrued_scores(whole_game_tables: Path, packed: PackedTables) -> None:
    """Both forms agree for random positions and exceptions; those of two pawns include en passant rights."""
    for name, variant, seed, positions, meets in (
        ("KNvK", R, 93, sample(5, 300), "value better worse stays function"),
        ("KPvK", R, "", sample(8, 50), "CAPTURE value better exception function"),
        ("KPvKP", R, "", sample(4, 20), "value worse exception"),
        ("KNvK", Variant.WHOLE_GAME, 172, sample(6, 200), "value better worse stays"),
        *[("KBvKN", R, "", 12, "SELF CAPTURE value better exception function escape")] * sample(0, 1),
    ):
        reader = reader_of(packed(name, variant), whole_game_tables)
        plain = Loaded(table_path(whole_game_tables, name, variant))
        assert bool(reader.file.attrs["accrued"]) == (variant is R)
        chance, material = random.Random(f"{name} {seed}".strip()), Material.parse(name)
        for number in range(positions):
            scores = [code for rank_ in chance.sample(range(2, 20), 3) for code in (rank_, 255 - rank_)]
            passes = name == "KPvKP" and number % 4
            board = en_passant_board(chance) if passes else random_board(chance, material)
            agree(reader, plain, board, [None, *scores])
        for slot in itertools.islice(reader.exceptions, 2):
            board = reader.board_of(reader.men_of(*reader.squares(slot)), 1 - reader.stored)
            agree(reader, plain, board, [None, 5, 250])
        assert reader.met.keys() >= {*meets.split()}


def test_the_manifest_and_what_the_bytes_are_checked_by(tables: Path, packed: PackedTables) -> None:
    """The manifest is checked with W and D of the plain table and functions decoded from the blocks."""
    reader, plain = reader_of(packed("KNvK"), tables), Loaded(table_path(tables, "KNvK", R))
    file = reader.file
    functions = np.zeros(int(file.attrs["size"]), np.uint32)
    for number in range(len(file["fresh/length"])):
        for slot, (_, _, function) in reader.block(number).items():
            functions[slot] = function
    content = {name: plain[name] for name in ("value", "depth", "ep/config", "ep/value", "ep/depth")}
    content["accrued/function"] = functions
    names = ["placements", "value", "depth", "accrued/function", "accrued/start", "accrued/from"]
    names += ["accrued/value", "ep/config", "ep/value", "ep/depth"]
    lines = [manifest_line(name, content[name] if name in content else file[name]) for name in names]
    check_manifest(file.attrs, [*manifest_facts(file.attrs), *lines])
    stored = bytes(file.attrs["stored"]).decode().splitlines()
    found: list[str] = []
    file.file.visititems(lambda name, what: found.append(name) if isinstance(what, h5py.Dataset) else None)
    assert sorted(line.split()[0] for line in stored) == sorted(found)
    counts = np.stack([np.bincount(side, minlength=256) for side in np.array(plain["value"])])
    counts[:, NONE] = 0
    assert np.array_equal(file["fresh/count"], counts)
    assert stored == [manifest_line(line.split()[0], file[line.split()[0]]) for line in stored]
