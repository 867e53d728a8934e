"""Packed tables can be read from docs/format.md alone, with h5py, numpy and python-chess."""

import binascii
import itertools
import math
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


class Model:
    """The symbols of each context with shares of its own, with the bounds of their intervals.

    :param levels: contexts of the first level, and into how many each further level divides a context.
    """

    def __init__(self, file: "Loaded", kind: str, *levels: int) -> None:
        self.levels, self.contexts, place = levels, dict[int, list[tuple[int, int, int]]](), 0
        numbers = listed(file[f"{kind}/step"])
        for number, size in zip(numbers, file[f"{kind}/symbols"].tolist(), strict=True):
            shares = file[f"{kind}/share"][place : place + size].tolist()
            symbols = file[f"{kind}/symbol"][place : place + size].tolist()
            begins = [*itertools.accumulate(shares, initial=0)]
            assert begins[-1] == 4096
            self.contexts[number] = list(zip(symbols, begins, shares, strict=False))
            place += size

    def symbols(self, context: int, *finer: int) -> list[tuple[int, int, int]]:
        """The symbols of the last context that has some: ``finer`` has what the levels add."""
        contexts, first, found = [context], 0, None
        for divided, part in zip(self.levels[1:], finer, strict=True):
            contexts.append(contexts[-1] * divided + part)
        for level, one in enumerate(contexts):
            found = self.contexts.get(first + one, found)
            first += math.prod(self.levels[: level + 1])
        assert found
        return found


def listed(steps: Any) -> list[int]:
    """The numbers that steps list."""
    numbers, number = [], -1
    for step in steps.tolist():
        number += step if step == 65535 else step + 1
        if step != 65535:
            numbers.append(number)
    return numbers


class Decoder:
    """The state of a block's value symbols, half depths or functions."""

    def __init__(self, data: bytes) -> None:
        self.state, self.bytes = 0, data
        self._refill()

    def symbol(self, symbols: list[tuple[int, int, int]]) -> int:
        r = self.state % 4096
        symbol, begin, share = next(one for one in symbols if one[1] <= r < one[1] + one[2])
        self._take(begin, share)
        return symbol

    def byte(self) -> int:
        byte = self.state % 4096 // 16
        self._take(16 * byte, 16)
        return byte

    def _take(self, begin: int, share: int) -> None:
        self.state = share * (self.state // 4096) + self.state % 4096 - begin
        self._refill()

    def has_ended(self) -> bool:
        return not self.state and not self.bytes

    def _refill(self) -> None:
        while self.state < 65536 and self.bytes:
            self.state, self.bytes = 256 * self.state + self.bytes[0], self.bytes[1:]


Neighbour = tuple[int, int, int]
"""Value symbol, half depth and function."""
Neighbours = tuple[Neighbour | None, ...]
"""The left neighbour, the upper one and the corner."""


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
        return {slot: number for number, slot in enumerate(listed(self.file["exception/step"]))}

    @cached_property
    def rows(self) -> int:
        """Rows of a block."""
        return 16 << max(Counter(self.letters).values()) - 1

    def block(self, number: int) -> dict[int, Neighbour]:
        """Value symbol, half depth and function of every position of a block, by slot."""
        if number not in self._blocks:
            self._blocks[number] = self._decode(number)
        return self._blocks[number]

    def _bytes(self, number: int) -> tuple[bytes, bytes, bytes]:
        """The bytes of value symbols, half depths and functions."""
        begins = self._begins[3 * number : 3 * number + 4]
        data = self.file["block/data"][begins[0] : begins[3]].tobytes()
        assert binascii.crc_hqx(data, 0xFFFF) == self.file["block/check"][number]
        values, depths, functions = (
            data[begin - begins[0] : end - begins[0]] for begin, end in itertools.pairwise(begins)
        )
        return values, depths, functions

    @cached_property
    def _begins(self) -> list[int]:
        value, depth = (self.file[f"block/{kind}_length"] for kind in ("value", "depth"))
        function = self.file["block/function_length"] if self.file.attrs["accrued"] else 0 * value
        return np.cumsum([0, *np.stack([value, depth, function], axis=1).reshape(-1).tolist()]).tolist()

    @cached_property
    def _models(self) -> list[Model]:
        levels = {"value": (128, 32, 8, 96), "depth": (128, 108, 4, 4, 96), "function": (513, 32, 16, 96)}
        return [Model(self.file, kind, *of) for kind, of in levels.items()]

    def _decode(self, number: int) -> dict[int, Neighbour]:
        rows = [list(self.positions_of(row)) for row in range(self.rows * number, self.rows * (number + 1))]
        found: dict[int, Neighbour] = {}
        data, depth_data, function_data = self._bytes(number)
        values, depths = Decoder(data), Decoder(depth_data)
        value_model, depth_model, function_model = self._models
        for slot, board, near in self._with_neighbours(rows, found):
            hints = self._hints(board)
            left, up, corner = [one[0] if one else None for one in near]
            s = values.symbol(
                value_model.symbols(
                    32 * hints + least(left, 30), least(up, 30), least(corner, 6), self._king_class(board)
                )
            )
            h = 0
            if s >= 2:
                source, expected, compared = depth_context(s, near)
                kings = self._king_class(board)
                h = depths.symbol(
                    depth_model.symbols(8 * min(s, 15) + source, expected, hints, compared, kings)
                )
                if h == 255:
                    h = depths.byte() + 256 * depths.byte()
                    self.met["deep"] += 1
            found[slot] = (s, h, 0)
        assert values.has_ended()
        assert depths.has_ended()
        if function_data:
            functions = Decoder(function_data)
            for slot, board, near in self._with_neighbours(rows, found):
                s, h, _ = found[slot]
                left, up, corner = [one[2] if one else None for one in near]
                function = functions.symbol(
                    function_model.symbols(
                        32 * min(s, 15) + least(left, 30),
                        *(least(up, 30), least(corner, 14), self._king_class(board)),
                    )
                )
                if function in (253, 254):
                    same = left if function == 253 else up
                    assert same is not None
                    self.met["left" if function == 253 else "up"] += 1
                    function = same
                elif function == 255:
                    lower = 1 if len(self.file["accrued/start"]) - 1 <= 65536 else 3
                    function = functions.symbol(function_model.symbols(512, 0, 0, 0)) << 8 * lower
                    function += sum(functions.byte() << 8 * byte for byte in range(lower))
                    self.met["escape"] += 1
                found[slot] = (s, h, function)
            assert functions.has_ended()
        return found

    @staticmethod
    def _with_neighbours(
        rows: list[list[tuple[int, int, chess.Board]]], found: dict[int, Neighbour]
    ) -> Iterator[tuple[int, chess.Board, Neighbours]]:
        """Slot, board and neighbours of the positions of a block; what is ``found`` is read as it grows."""
        above: dict[int, int] = {}  # the last slot of a column
        uppers = dict[int | None, int | None]()
        for row in rows:
            left: int | None = None
            for square, slot, board in row:
                up = uppers[slot] = above.get(square)
                near = left, up, uppers.get(left)
                yield slot, board, tuple(None if one is None else found[one] for one in near)
                above[square] = left = slot

    def _king_class(self, board: chess.Board) -> int:
        x, y = (board.pieces(chess.KING, side == (self.stored == 0)).pop() for side in (True, False))
        if not self.pawns:
            return 16 * edge_distance(y) + 4 * edge_distance(x) + min(chess.square_distance(x, y), 5) - 2
        pawns = board.pieces(chess.PAWN, chess.WHITE) or board.pieces(chess.PAWN, chess.BLACK)
        p = min(pawns)
        far, near = (min(chess.square_distance(p, king), 4) - 1 for king in (y, x))
        return 24 * far + 6 * near + p // 8 - 1

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
        return self.block(self.row_of(slot) // self.rows)[slot]

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


def edge_distance(square: int) -> int:
    file, rank_ = square % 8, square // 8
    return min(file, 7 - file, rank_, 7 - rank_)


def least(number: int | None, most: int) -> int:
    """A neighbour's value symbol or function in a context."""
    return most + 1 if number is None else min(number, most)


def depth_context(s: int, near: Neighbours) -> tuple[int, int, int]:
    """Where the expected half depth comes from, its class, and how the corner compares."""
    halves = [one[1] if one and one[0] == s else None for one in near]
    beside, corner = [half for half in halves[:2] if half is not None], halves[2]
    source, expected = 7, 0
    if len(beside) == 2:
        expected, apart = sum(beside) // 2 + sum(beside) % 2, abs(beside[0] - beside[1])
        source = apart if apart < 3 else 3 if apart < 6 else 4
    elif beside:
        source, expected = 5, beside[0]
    elif corner is not None:
        source, expected = 6, corner
    compared = 3 if corner is None else 1 + (corner > expected) - (corner < expected)
    return source, half_class(expected), compared


def half_class(half: int) -> int:
    return half if half < 48 else 24 + half // 2 if half < 80 else min(44 + half // 4, 107)


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
        *[("KBvKN", R, "", 150, "SELF CAPTURE value better exception function escape left up")]
        * sample(0, 1),
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
    for number in range(len(file["block/value_length"])):
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
