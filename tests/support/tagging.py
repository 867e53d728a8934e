"""Games for ``tbgen tag``, and its runs."""

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from tbgen.cli.main import main
from tbgen.games.tagging import Adjudicator, tag_games

BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


DRAW = f'[Event "1"]\n[FEN "{BISHOP}"]\n\n1... Kh5 2. Kf4 {{Draw by adjudication}} 1/2-1/2\n\n'


MATE = '[Event "2"]\r\n[Result "0-1"]\r\n\r\n1. f3 e5 2. g4 Qh4# 0-1\r\n\r\n'


BROKEN = '[Event "3"]\n\n1. e4 e5\n2. Ke3 *\n\n'


DATA = (DRAW + MATE).encode()


ZSTD = zstandard.ZstdCompressor(write_checksum=True)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": ZSTD.compress,
}


def unzstd(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()


DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress,
    "bz2": bz2.decompress,
    "xz": lzma.decompress,
    "zst": unzstd,
}


def expected(data: bytes = DATA) -> bytes:
    return b"".join(game.data for game in tag_games(io.BytesIO(data), Adjudicator()))


def fails(capsys: pytest.CaptureFixture[str], code: int, *words: str | Path) -> str:
    """The one sentence of a command that fails."""
    assert main(["tag", *map(str, words)]) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("tbgen: ")
    assert output.err.count("\n") == 1
    return output.err


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())
