"""The file of a solved cell: its packed bounds and their digest (docs/solve_reference.md has the format).

Reading and checking a file needs no compiler; ``tbgen.cells.packing`` unpacks the bounds.
"""

import hashlib
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

import chess
import msgspec

from tbgen.cells.cell import Cell, piece_of
from tbgen.errors import UsageError, printable

SUFFIX: Final = ".cell"

_FORMAT: Final = b"tbgen cell "
_VERSION: Final = b"2"
"""Format version, which changes whenever bounds of older versions become unusable."""
_DIGEST_BYTES: Final = 32
_HASH_DIGITS: Final = 24
_FILE_NAME: Final = re.compile(rf"K[QRBNP]*vK[QRBNP]*\.[0-9a-f]{{{_HASH_DIGITS}}}{re.escape(SUFFIX)}")


class PackedSide(msgspec.Struct, frozen=True):
    """The bounds of all positions of a cell with one side to move.

    :ivar states: uint64 (states,), little-endian: the states as words, most frequent first. See
        ``number_states`` of :mod:`tbgen.cells.kernels.values`.
    :ivar planes: the state numbers of all slots. Each plane has one byte of every number and is compressed
        with zlib; the plane of the least significant bytes comes first.
    """

    states: bytes
    planes: tuple[bytes, ...]

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return len(self.states) + sum(map(len, self.planes))


class PackedBounds(msgspec.Struct, frozen=True, omit_defaults=True):
    """The packed bounds of a cell.

    :ivar sides: the bounds by side to move.
    :ivar window: codes of the two scores of the window in which the cell was solved. Bounds within the window
        are the best that the exits allow; bounds beyond it may be improvable.
    """

    sides: tuple[PackedSide, PackedSide]
    window: tuple[int, int] = (255, 0)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return sum(side.nbytes for side in self.sides)


class CellFileError(ValueError):
    """A file cannot be used as a cell's file. The message is a clause about it, such as "it is damaged"."""


class _CellFile(msgspec.Struct, frozen=True):
    cell: str
    bounds: PackedBounds


def read_cell(path: Path, name: str) -> PackedBounds:
    """Read the file of a cell and check its digest.

    :param name: the cell's name, by :func:`name_of`.
    :raises CellFileError: if the file is damaged, or belongs to another cell or version.
    :raises OSError: if the file cannot be read.
    """
    content = _content_of(path.read_bytes())
    if content.cell != name:
        raise CellFileError(f"it contains the cell {content.cell}")
    return content.bounds


def check_cell(path: Path) -> str:
    """Read the file of a cell, check it, and return the digest of its content.

    :raises CellFileError: if the file is damaged, belongs to another version, or has the file name of another
        cell.
    :raises OSError: if the file cannot be read.
    """
    data = path.read_bytes()
    name = _content_of(data).cell
    with suppress(ValueError):  # the name has a letter that is no man
        if file_name(name) == path.name.split(SUFFIX)[0] + SUFFIX:
            return _parts_of(data)[0].hex()
    raise CellFileError(f"it contains the cell {printable(name)}")


def stated_digest(path: Path) -> str:
    """Return the digest that is stored in the file of a cell, without reading the content.

    :raises CellFileError: if the file is not that of a cell, or belongs to another version.
    :raises OSError: if the file cannot be read.
    """
    with path.open("rb") as file:
        return _parts_of(file.read(len(_FORMAT + _VERSION) + 1 + _DIGEST_BYTES))[0].hex()


def name_of(cell: Cell) -> str:
    """Return the name of a canonical cell: the letters of its mobile men, and the FEN of the other men.

    >>> board = chess.Board("4k3/p7/8/8/8/8/8/R3K3 w - - 0 1")
    >>> name_of(Cell.of_board(board, [chess.A1, chess.E1, chess.E8]))
    'KkR 8/p7/8/8/8/8/8/8'
    """
    standing = chess.BaseBoard(None)
    standing.set_piece_map({square: piece_of(man) for square, man in cell.standing.items()})
    return f"{''.join(piece_of(man).symbol() for man in cell.mobile)} {standing.board_fen()}"


def file_name(name: str) -> str:
    """Return the file name of the cell with a name.

    >>> file_name("KkR 8/p7/8/8/8/8/8/8")
    'KRvKP.a3c7660b01f6458b2faf3997.cell'
    """
    white, black = ("".join(sorted(filter(case, name), key=_order)) for case in (str.isupper, str.islower))
    return f"{white}v{black.upper()}.{hashlib.sha256(name.encode()).hexdigest()[:_HASH_DIGITS]}{SUFFIX}"


def check_directory(directory: Path) -> None:
    """Check that the path of a directory of cells is a directory or does not exist yet.

    :raises UsageError: if it is something else.
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is not a directory: choose another for cells")


def is_file_name(name: str) -> bool:
    """Return whether a file name has the form of :func:`file_name`."""
    return _FILE_NAME.fullmatch(name) is not None


def _order(letter: str) -> int:
    return "KQRBNP".index(letter.upper())


def bytes_of(name: str, bounds: PackedBounds) -> bytes:
    """Return the file of a cell with a name, as bytes."""
    body = msgspec.msgpack.encode(_CellFile(name, bounds))
    return _FORMAT + _VERSION + b"\n" + hashlib.sha256(body).digest() + body


def _parts_of(data: bytes) -> tuple[bytes, bytes]:
    """Return the digest that is stored in a file, and the content to compare it with."""
    head, _, rest = data.partition(b"\n")
    if not head.startswith(_FORMAT):
        raise CellFileError("it is not the file of a cell, or is damaged")
    if head != _FORMAT + _VERSION:
        raise CellFileError(f"it was written by another version of tbgen ({_printable_head(head)})")
    return rest[:_DIGEST_BYTES], rest[_DIGEST_BYTES:]


def _content_of(data: bytes) -> _CellFile:
    digest, body = _parts_of(data)
    if hashlib.sha256(body).digest() != digest:
        raise CellFileError("it is damaged")
    try:
        return msgspec.msgpack.decode(body, type=_CellFile)
    except msgspec.MsgspecError as error:
        raise CellFileError(f"its content is not that of a cell ({error})") from None


def _printable_head(head: bytes) -> str:
    return printable(head[:40].decode(errors="replace"))
