"""Reading and atomic writing of PGN files, compressed or not."""

from __future__ import annotations

import bz2
import glob
import gzip
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from io import BufferedReader, BufferedWriter, FileIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, Protocol, cast

from tbgen.errors import TbgenError, UsageError, quote
from tbgen.extras import needs_extra
from tbgen.system.files import atomic_write, write_errors

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

_BLOCK_BYTES: Final = 1 << 14
"""Number of bytes to decompress at once. The decompressed text may be hundreds of times longer."""
_SUFFIXES: Final = {
    b"\x1f\x8b\x08": ".gz",
    b"BZh": ".bz2",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"\xfd7zX": ".xz",
    b"PK\x03\x04": ".zip",
    b"PK\x05\x06": ".zip",
    b"7z\xbc\xaf": ".7z",
    b"Rar!": ".rar",
}
"""Maps the first bytes of compressed files to the usual suffix of their names."""
_ARCHIVE_SUFFIXES: Final = (".zip", ".7z", ".rar")
_REMEDY: Final = "choose another place"
_WIDE_START: Final = re.compile(
    rb"(?P<UTF_32>\xff\xfe\x00\x00|\x00\x00\xfe\xff)|(?P<UTF_16>\xff\xfe|\xfe\xff)"
    rb"|(?P<UTF_16LE>[\t-~]\x00[\t-~]\x00)|(?P<UTF_16BE>\x00[\t-~]\x00[\t-~])"
)
"""The first bytes of a text by encoding. Those whose names state no byte order have a byte order mark."""


class Sink(Protocol):
    """A destination for bytes."""

    def write(self, data: bytes, /) -> object:
        """Write bytes."""


class PgnSource:
    """A PGN file that is being read."""

    def __init__(self, name: str, file: BufferedReader, size: int) -> None:
        self.name = name
        self.size = size
        """Size of the file in bytes, before decompression; 0 if unknown."""
        self._file = file
        try:
            first_bytes = file.peek(4)[:4]
        except OSError as error:
            raise self._read_error(error) from None
        suffix = next((suffix for magic, suffix in _SUFFIXES.items() if first_bytes.startswith(magic)), "")
        if suffix in _ARCHIVE_SUFFIXES:
            raise self._archive_error(suffix.removeprefix("."))
        self._text_stream = _compression_stream(suffix, file, "rb") or file
        self._is_after_start = False

    @property
    def bytes_read(self) -> int:
        """Number of bytes of the file that have been read, before decompression; 0 if unknown."""
        return self._file.tell() if self.size else 0

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes of text; no bytes at the end.

        :raises UsageError: if the text is in UTF-16 or UTF-32, or the file is an archive.
        :raises TbgenError: if the file cannot be read or decompressed.
        """
        try:
            text: bytes = self._text_stream.read(size)
        except Exception as error:  # libraries raise their own errors; only those of the system have an errno
            if isinstance(error, OSError) and error.errno:
                raise self._read_error(error) from None
            raise TbgenError(f"{self.name} is damaged: it cannot be decompressed") from None
        if not self._is_after_start and (start := _WIDE_START.match(text)):
            encoding = str(start.lastgroup).replace("_", "-")
            file = shlex.quote(self.name) if self.size and self._text_stream is self._file else "-"
            target = "converted.pgn" if file == "-" else f"{file}.utf8"
            command = f"iconv -f {encoding} -t UTF-8 {file} > {target}"
            raise UsageError(f"{self.name} is in {encoding[:6]}: convert it, as with: {command}")
        if not self._is_after_start and text[257:262] == b"ustar":
            raise self._archive_error("tar")
        self._is_after_start = True
        return text

    def _archive_error(self, kind: str) -> UsageError:
        return UsageError(f"{self.name} is a {kind} archive: unpack it, and name a file from it")

    def _read_error(self, error: OSError) -> TbgenError:
        return TbgenError(f"{self.name} cannot be read: {error.strerror or error}")


class _ZstdReader:
    """A reader that decompresses zstd files. Unlike the library's own reader, it rejects truncated files."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decompressor = _zstandard().ZstdDecompressor()
        self._frame = self._decompressor.decompressobj()
        self._text = b""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes of text; no bytes at the end.

        :raises EOFError: if the last frame is not complete.
        """
        while not self._text:
            data = self._frame.unused_data or self._file.read(_BLOCK_BYTES)
            if not data and not self._frame.eof:
                raise EOFError
            if not data:
                return b""
            if self._frame.eof:
                self._frame = self._decompressor.decompressobj()
            self._text = self._frame.decompress(data)
        text = self._text[:size]
        self._text = self._text[size:]
        return text


def matching_files(names: Iterable[str]) -> list[str]:
    """Return the names of the files that match names or patterns such as ``round*.pgn``.

    Files that match a pattern are listed in alphabetical order. Each file is listed once, where it first
    occurs. In a pattern, ``**`` stands for any number of directories. The name ``-``, for standard input, is
    returned unchanged.

    :raises UsageError: if a file does not exist, is named twice without a pattern (perhaps once by a link),
        or no file matches a pattern.
    """
    matches: dict[tuple[int, int], str] = {}
    named: set[tuple[int, int]] = set()
    for name in names:
        if os.path.exists(name) or name == "-":
            identity = _identity(name)
            earlier_name = matches.setdefault(identity, name)
            if identity in named:
                other_name = "" if earlier_name == name else f" (also as {quote(earlier_name)})"
                raise UsageError(
                    f"{quote(name)} is named twice{other_name}, so its games would count twice: name it once"
                )
            named.add(identity)
            continue
        files = sorted(filter(os.path.isfile, glob.glob(name, recursive=True)))
        if not files and glob.has_magic(name):
            raise UsageError(f"no file matches {quote(name)}: name a PGN file, or another pattern")
        if not files:
            raise _no_file_error(name)
        for file in files:
            matches.setdefault(_identity(file), file)
    return list(matches.values())


def _identity(name: str) -> tuple[int, int]:
    """Return a pair of numbers that is the same for all names of a file, ``-`` being a name of the file
    that standard input reads."""
    status = os.stat(0 if name == "-" else name)
    return status.st_dev, status.st_ino


def _no_file_error(name: str) -> UsageError:
    return UsageError(f"there is no file {quote(name)}: expected a PGN file, or - for standard input")


@contextmanager
def open_for_reading(name: str) -> Iterator[PgnSource]:
    """Open a PGN file, or standard input for ``-``.

    The first bytes show whether the file is compressed with gzip, bzip2, xz or zstd.

    :raises UsageError: if the file does not exist, or is an archive.
    :raises MissingExtraError: if a package that the file needs is not installed.
    :raises TbgenError: if the file cannot be opened or read.
    """
    if name == "-":
        if sys.stdin is None:
            raise TbgenError("standard input is closed, so no games can be read: redirect it")
        yield PgnSource("standard input", cast(BufferedReader, sys.stdin.buffer), 0)
        return
    try:
        file = open(name, "rb")  # noqa: SIM115
    except IsADirectoryError:
        raise UsageError(f"{quote(name)} is a directory: expected a PGN file") from None
    except FileNotFoundError:
        raise _no_file_error(name) from None
    except OSError as error:
        raise TbgenError(f"{quote(name)} cannot be read: {error.strerror}; choose another file") from None
    with file:
        yield PgnSource(name, file, os.fstat(file.fileno()).st_size)


@contextmanager
def open_for_writing(name: str) -> Iterator[Sink]:
    """Open a file for writing, or standard output for ``-``.

    If the name ends in .gz, .bz2, .xz or .zst, the file is compressed accordingly. The file appears under its
    name, or replaces an existing file, only when it is complete.

    :raises UsageError: if the name is empty.
    :raises MissingExtraError: if a package that the file needs is not installed.
    :raises TbgenError: if the file cannot be written.
    :raises OSError: if standard output, a device or a pipe cannot be written.
    """
    if not name:
        raise UsageError("the name of the file to write is empty")
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif is_stream(name):
        with write_errors(Path(name), remedy=_REMEDY):
            device = open(name, "wb")  # noqa: SIM115
        with device:
            yield device
    else:
        path = Path(os.path.realpath(name))  # the link remains, and its target is replaced
        with (
            atomic_write(path, remedy=_REMEDY) as temporary_path,
            BufferedWriter(_TemporaryFile(temporary_path, path)) as file,
            closing(_compression_stream(Path(name).suffix.lower(), file, "wb") or file) as sink,
        ):
            yield sink


def is_stream(name: str) -> bool:
    """Return whether a name stands for a standard stream, even if redirected to a file, or for an existing
    device, pipe or directory rather than a regular file."""
    is_special = name.startswith(("/dev/std", "/dev/fd/", "/proc/")) or not os.path.isfile(name)
    return name == "-" or (os.path.exists(name) and is_special)


class _TemporaryFile(FileIO):
    """A temporary file. Its errors name the file that it is going to replace."""

    def __init__(self, temporary_path: Path, path: Path) -> None:
        super().__init__(temporary_path, "wb")
        self._path = path

    def write(self, data: Buffer, /) -> int:
        """Write bytes, and return their number.

        :raises TbgenError: if they cannot be written.
        """
        with write_errors(self._path, remedy=_REMEDY):
            return super().write(data)


def _compression_stream(suffix: str, file: BinaryIO, mode: Literal["rb", "wb"]) -> Any:
    """Return a stream that decompresses a file or compresses into it; None if the file is not compressed.

    Closing the stream leaves the file open.
    """
    match suffix:
        case ".gz":
            return gzip.GzipFile("", mode, 6, file, 0)  # no name and time, so that output is reproducible
        case ".bz2":
            return bz2.BZ2File(file, mode)
        case ".xz":
            import lzma

            return lzma.LZMAFile(file, mode)
        case ".zst" if mode == "rb":
            return _ZstdReader(file)
        case ".zst":
            return _zstandard().ZstdCompressor().stream_writer(file, closefd=False)
    return None


def _zstandard() -> ModuleType:
    """Return the package for zstd.

    :raises MissingExtraError: if the package is not installed.
    """
    with needs_extra("a file compressed by zstd", "zstd"):
        import zstandard
    return zstandard
