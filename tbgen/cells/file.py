"""The files of a solved cell: its packed bounds, or a threshold, and their digest.

docs/solve_reference.md describes them.

Reading and checking a file needs no compiler; ``tbgen.cells.packing`` unpacks the bounds.
"""

import hashlib
import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import chess
import msgspec

from tbgen.board.kinds import MEN_LETTERS
from tbgen.cells.cell import Cell, piece_of
from tbgen.errors import UsageError, printable
from tbgen.system.files import check_target

SUFFIX: Final = ".cell"

_FORMAT: Final = b"tbgen cell "
_VERSION: Final = b"2"
"""Format version of bounds, which changes whenever bounds of older versions become unusable."""
_THRESHOLD_VERSION: Final = b"3"
"""Format version of thresholds."""
_DIGEST_BYTES: Final = 32
_HASH_DIGITS: Final = 24
_SIDE: Final = f"K[{MEN_LETTERS}]*"
_END_NAMES: Final = ("lower", "upper")
_FILE_NAME_PATTERN: Final = re.compile(
    rf"({_SIDE}v{_SIDE}\.[0-9a-f]{{{_HASH_DIGITS}}})(?:\.({'|'.join(_END_NAMES)})([0-9]{{3}}))?{re.escape(SUFFIX)}"
)


class PackedSide(msgspec.Struct, frozen=True):
    """The bounds of all positions of a cell with one side to move."""

    states: bytes
    """The distinct entries, most frequent first, as 8-byte little-endian integers. From the most significant
    byte down, an entry has 0, the lower value, 0, the upper value, and two bytes each for the depths of the
    lower and the upper bound. If only one value is trivial (lower -G0.0, upper G0.0), its depth is 0."""
    planes: tuple[bytes, ...]
    """The entry numbers of all slots: a plane for the least significant bytes of all numbers, one for their
    next bytes, and so on, each compressed with zlib. In these slots the squares of the men of the side not to
    move count most, in the reverse order of the cell's name (pieces before the king). Then come the squares
    of the men of the side to move, in the order of the name."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return len(self.states) + sum(map(len, self.planes))


class PackedBounds(msgspec.Struct, frozen=True, omit_defaults=True):
    """The packed bounds of a cell."""

    sides: tuple[PackedSide, PackedSide]
    """The bounds of the positions with White to move, and of those with Black to move."""
    window: tuple[int, int] = (255, 0)
    """Codes of two scores beyond which an earlier version of tbgen did not distinguish scores, the one that
    is worse for White first; otherwise absent."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return sum(side.nbytes for side in self.sides)


class PackedThreshold(msgspec.Struct, frozen=True):
    """The positions of a cell for which a threshold is proved."""

    end: Annotated[int, msgspec.Meta(ge=0, le=1)]
    """The end at which the score is a bound of the value: 0 for the lower, 1 for the upper bound."""
    bound: Annotated[int, msgspec.Meta(ge=0, le=255)]
    """Code of the score."""
    sides: tuple[bytes, bytes]
    """For White and for Black to move, a bit for each slot: 8-byte little-endian integers, the lowest bit for
    the first of 64 slots, compressed with zlib. The squares of the men, in the order of the cell's name, are
    the digits of a slot in base 64."""


class CellFileError(ValueError):
    """A file is not a usable cell file. The message is a clause about the file, such as "it is damaged"."""


class _CellFile(msgspec.Struct, frozen=True, omit_defaults=True):
    cell: str
    bounds: PackedBounds | None = None
    threshold: PackedThreshold | None = None

    @property
    def file_name(self) -> str:
        threshold = self.threshold
        return file_name(self.cell, None if threshold is None else (threshold.end, threshold.bound))


def read_cell(path: Path, name: str) -> PackedBounds:
    """Read the bounds of a cell and check their digest.

    :param name: the cell's name, as :func:`name_of` returns it.
    :raises CellFileError: if the file is damaged, or belongs to another cell or version.
    :raises OSError: if the file cannot be read.
    """
    bounds = _read(path, name).bounds
    if bounds is None:
        raise CellFileError("it contains a threshold")
    return bounds


def read_threshold(path: Path, name: str) -> PackedThreshold:
    """Read a threshold of a cell and check its digest; otherwise like :func:`read_cell`."""
    threshold = _read(path, name).threshold
    if threshold is None:
        raise CellFileError("it contains no threshold")
    return threshold


def _read(path: Path, name: str) -> _CellFile:
    content = _decode_cell(path.read_bytes())
    if content.cell != name:
        raise CellFileError(f"it contains the cell {content.cell}")
    return content


def check_cell(path: Path) -> str:
    """Read the file of a cell, check it, and return the digest of its content.

    :raises CellFileError: if the file is damaged, belongs to another version, or is named after another cell.
    :raises OSError: if the file cannot be read.
    """
    check_target(path)
    data = path.read_bytes()
    content = _decode_cell(data)
    with suppress(ValueError):  # raised if a letter of the name stands for no man
        if content.file_name == path.name.split(SUFFIX)[0] + SUFFIX:
            return _split_digest(data)[0].hex()
    raise CellFileError(f"it contains the cell {printable(content.cell)}")


def stated_digest(path: Path) -> str:
    """Return the digest that is stored in the file of a cell, without reading the content.

    :raises CellFileError: if the file is not a cell's file, or belongs to another version.
    :raises OSError: if the file cannot be read.
    """
    check_target(path)
    with path.open("rb") as file:
        return _split_digest(file.read(len(_FORMAT + _VERSION) + 1 + _DIGEST_BYTES))[0].hex()


def name_of(cell: Cell) -> str:
    """Return the name of a canonical cell: the letters of its mobile men, and the FEN of the other men.

    >>> board = chess.Board("4k3/p7/8/8/8/8/8/R3K3 w - - 0 1")
    >>> name_of(Cell.of_board(board, [chess.A1, chess.E1, chess.E8]))
    'KkR 8/p7/8/8/8/8/8/8'
    """
    standing = chess.BaseBoard(None)
    standing.set_piece_map({square: piece_of(man) for square, man in cell.standing.items()})
    return f"{''.join(piece_of(man).symbol() for man in cell.mobile)} {standing.board_fen()}"


def file_name(name: str, threshold: tuple[int, int] | None = None) -> str:
    """Return the name of the file for the cell with the given name.

    :param threshold: end and code of the threshold in the file; None for bounds.

    >>> file_name("KkR 8/p7/8/8/8/8/8/8")
    'KRvKP.a3c7660b01f6458b2faf3997.cell'
    >>> file_name("KkR 8/p7/8/8/8/8/8/8", (0, 5))
    'KRvKP.a3c7660b01f6458b2faf3997.lower005.cell'
    """
    suffix = SUFFIX if threshold is None else f".{_END_NAMES[threshold[0]]}{threshold[1]:03}{SUFFIX}"
    white, black = ("".join(sorted(filter(case, name), key=_sort_key)) for case in (str.isupper, str.islower))
    return f"{white}v{black.upper()}.{hashlib.sha256(name.encode()).hexdigest()[:_HASH_DIGITS]}{suffix}"


def check_directory(directory: Path) -> None:
    """Check that a path can be used as a directory of cells.

    :raises UsageError: if the path exists, but is not a directory.
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is not a directory: choose another for cells")


def threshold_of_name(name: str) -> tuple[str, tuple[int, int]] | None:
    """Return what the name of a threshold's file says: the beginning of the names of all files of its cell,
    and the end and code of the threshold. None is returned for any other name."""
    match = _FILE_NAME_PATTERN.fullmatch(name)
    if match is None or match[2] is None:
        return None
    return match[1], (_END_NAMES.index(match[2]), int(match[3]))


def is_file_name(name: str) -> bool:
    """Return whether a file name has the form of :func:`file_name`."""
    return _FILE_NAME_PATTERN.fullmatch(name) is not None


def _sort_key(letter: str) -> int:
    return MEN_LETTERS.index(letter.upper())


def encode_cell(name: str, content: PackedBounds | PackedThreshold) -> bytes:
    """Return the content of a file for the cell with the given name."""
    if isinstance(content, PackedBounds):
        version, file = _VERSION, _CellFile(name, bounds=content)
    else:
        version, file = _THRESHOLD_VERSION, _CellFile(name, threshold=content)
    body = msgspec.msgpack.encode(file)
    return _FORMAT + version + b"\n" + hashlib.sha256(body).digest() + body


def _split_digest(data: bytes) -> tuple[bytes, bytes]:
    """Return the digest that a file states, and the encoded cell, which should have this digest."""
    head, _, rest = data.partition(b"\n")
    if not head.startswith(_FORMAT):
        raise CellFileError("it is not the file of a cell, or is damaged")
    if head not in (_FORMAT + _VERSION, _FORMAT + _THRESHOLD_VERSION):
        version = printable(head[:40].decode(errors="replace"))
        raise CellFileError(f"it was written by another version of tbgen ({version})")
    return rest[:_DIGEST_BYTES], rest[_DIGEST_BYTES:]


def _decode_cell(data: bytes) -> _CellFile:
    digest, body = _split_digest(data)
    if hashlib.sha256(body).digest() != digest:
        raise CellFileError("it is damaged")
    try:
        content = msgspec.msgpack.decode(body, type=_CellFile)
    except msgspec.MsgspecError as error:
        raise CellFileError(f"its content is not that of a cell ({error})") from None
    if (content.bounds is None) == (content.threshold is None):
        raise CellFileError(
            "its content is not that of a cell (it has neither bounds nor a threshold, or both)"
        )
    return content
