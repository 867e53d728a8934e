#!/usr/bin/env python3
"""Compare tables with Syzygy and Gaviota tables, which come from other programs.

    scripts/compare_tablebases.py --dir data
    scripts/compare_tablebases.py --dir data --sample 20000 --materials KQvKR KPvKP

The source distribution of python-chess contains Syzygy tables of all materials of three and four men, and
Gaviota tables of a piece or pawn against a king. It is fetched once by pip. Two properties are checked, for
every position of three men and for a sample of the positions of four men:
- A position has the value G0.0 or -G0.0 exactly if Syzygy has a win of that side. Cursed wins count as wins,
  because there is no 50-move rule here.
- For KQvK, KRvK and KPvK, the depth of a mate is Gaviota's distance to mate in plies.

Prints a line per table, and the first positions that differ. Exit code 0 if no position differs, else 1; 3 if
a table is missing.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import chess
import chess.gaviota
import chess.syzygy
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KIND_LETTERS
from tbgen.board.material import Material, all_materials
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.cli.bars import ProgressLine
from tbgen.errors import TbgenError, UsageError, default_directory
from tbgen.index.layout import TRIANGLE, Layout, layout_of
from tbgen.store.format import table_path
from tbgen.tables.files import open_table
from tbgen.text import duration

RELEASE: Final = "1.11.2"
SHA256: Final = "a8b43e5678fdb3000695bdaa573117ad683761e5ca38e591c4826eba6d25bb39"
"""Digest of the source distribution of this release."""

CACHE: Final = Path(__file__).resolve().parent.parent / "build" / f"chess-{RELEASE}"
FOLDERS: Final = {"data/syzygy/regular": "syzygy", "data/gaviota": "gaviota"}
"""Folders of the distribution to unpack, and their names in the cache."""

WITH_MATES: Final = ("KQvK", "KRvK", "KPvK")
"""Materials whose distances to mate are compared."""

WHITE_MATES: Final = GScore.parse("G0.0").code
BLACK_MATES: Final = GScore.parse("-G0.0").code

MAX_SHOWN: Final = 5
"""Maximum number of differing positions printed per table."""

BATCH: Final = 1000
"""Number of positions per task of a process."""


class FetchError(TbgenError):
    """The published tables cannot be downloaded."""


@dataclass(frozen=True)
class Batch:
    """Positions with their values and depths by tables of tbgen."""

    masks: NDArray[np.uint64]
    """Shape (n, 8): bitboards of pawns, knights, bishops, rooks, queens, kings, White, Black."""
    white_to_move: NDArray[np.bool_]
    ep_square: NDArray[np.int64]
    """Target square of the en passant capture; -1 without such a capture."""
    verdict: NDArray[np.int8]
    """1 if the side to move mates, -1 if it is mated, 0 for other values."""
    depth: NDArray[np.uint16]
    """Plies until the accrued score is the value."""
    with_mates: bool
    """Whether Gaviota has distances to mate for the positions."""

    def __len__(self) -> int:
        return len(self.masks)

    def parts(self, size: int) -> Iterator["Batch"]:
        """Yield batches of at most ``size`` consecutive positions."""
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            yield Batch(
                self.masks[part],
                self.white_to_move[part],
                self.ep_square[part],
                self.verdict[part],
                self.depth[part],
                self.with_mates,
            )


class Published:
    """The open Syzygy and Gaviota tables of one folder."""

    def __init__(self, folder: Path) -> None:
        self._syzygy = chess.syzygy.open_tablebase(str(folder / "syzygy"), load_dtz=False)
        self._gaviota = chess.gaviota.PythonTablebase()
        self._gaviota.add_directory(str(folder / "gaviota"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._syzygy.close()
        self._gaviota.close()

    def differences(self, batch: Batch) -> list[str]:
        """Return a line for each position of the batch whose values or depths differ."""
        lines = []
        board = chess.Board(None)
        for masks, white, ep_square, verdict, depth in zip(
            batch.masks.tolist(),
            batch.white_to_move.tolist(),
            batch.ep_square.tolist(),
            batch.verdict.tolist(),
            batch.depth.tolist(),
            strict=True,
        ):
            place(board, masks, white, ep_square)
            wdl = self._syzygy.probe_wdl(board)
            if (wdl > 0) - (wdl < 0) != verdict:
                lines.append(f"{board.fen()}: {_result(verdict, depth)} here, WDL {wdl} in Syzygy")
            elif verdict and batch.with_mates:
                plies = self._gaviota.probe_dtm(board)
                if plies != verdict * depth:
                    lines.append(f"{board.fen()}: {_result(verdict, depth)} here, DTM {plies} in Gaviota")
        return lines


def place(board: chess.Board, masks: list[int], white_to_move: bool, ep_square: int) -> None:
    """Set up a position of a batch on a board that has no promoted men and no castling rights."""
    board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings, white, black = masks
    board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK] = white, black
    board.occupied = white | black
    board.turn = white_to_move
    board.ep_square = ep_square if ep_square >= 0 else None


def _result(verdict: int, depth: int) -> str:
    return (
        f"the side to move {'mates' if verdict > 0 else 'is mated'} in {depth} plies"
        if verdict
        else "no mate"
    )


def choose(path: Path, material: Material, sample: int, seed: int) -> Batch:
    """Return random positions of a table, without repetition and in the order of its slots.

    The result has ``sample`` positions with either side to move, ``sample // 10`` further mates, because some
    tables have few, and ``sample`` en passant positions.

    :raises TbgenError: if the table is missing or damaged.
    """
    with open_table(path, material=material) as file:
        table = file.read()
    layout = layout_of(material)
    rng = np.random.default_rng([seed, *material.name.encode()])
    mates = _random_sample(
        rng, np.flatnonzero((table.value == WHITE_MATES) | (table.value == BLACK_MATES)), sample // 10
    )
    flat = np.union1d(_random_sample(rng, np.flatnonzero(table.value != NONE), sample), mates)
    side, slot = np.divmod(flat, layout.size)
    ep_flat = _random_sample(rng, np.flatnonzero(table.ep_value != NONE), sample)
    row, within = np.divmod(ep_flat, layout.phase_size)
    phase, ep_square = table.ep_config[row].astype(np.int64).T
    code = np.concatenate([table.value.ravel()[flat], table.ep_value.ravel()[ep_flat]])
    # An en passant target on the sixth rank is White's.
    white = np.concatenate([side == 0, ep_square >= 32])
    won = code == np.where(white, WHITE_MATES, BLACK_MATES)
    lost = code == np.where(white, BLACK_MATES, WHITE_MATES)
    return Batch(
        bitboards(layout, squares(layout, np.concatenate([slot, phase * layout.phase_size + within]))),
        white,
        np.concatenate([np.full(len(slot), -1), ep_square]),
        won.astype(np.int8) - lost,
        np.concatenate([table.depth.ravel()[flat], table.ep_depth.ravel()[ep_flat]]),
        material.name in WITH_MATES,
    )


def _random_sample(rng: np.random.Generator, items: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    return items if len(items) <= count else np.sort(rng.choice(items, count, replace=False))


def squares(layout: Layout, slots: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the squares of all men of ``n`` slots, free men first, in the shape (men, n)."""
    phase, rest = np.divmod(slots, layout.phase_size)
    free = [rest >> 6 * (layout.free_count - 1 - man) & 63 for man in range(layout.free_count)]
    if layout.pawns:
        return np.array([*free, *np.array(layout.placements, np.int64)[phase].T])
    return np.array([np.array(TRIANGLE)[free[0]], *free[1:]])


def bitboards(layout: Layout, men: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the masks of a :class:`Batch` for positions, which are given as the squares of their men."""
    columns = ["PNBRQK".index(KIND_LETTERS[kind]) for kind in layout.kinds] + [0] * layout.pawns
    colours = [*layout.colours, *[0] * layout.white_pawns, *[1] * layout.black_pawns]
    masks = np.zeros((men.shape[1], 8), np.uint64)
    for bit, column, colour in zip(np.uint64(1) << men.astype(np.uint64), columns, colours, strict=True):
        masks[:, column] |= bit
        masks[:, 6 + colour] |= bit
    return masks


def fetch(sdist: Path | None = None, folder: Path = CACHE) -> Path:
    """Return a folder with the published tables. Download and unpack the tables if necessary.

    :param sdist: the source distribution, if it is already downloaded.
    :raises FetchError: if the distribution cannot be downloaded, or is not the expected one.
    """
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        archive = sdist or _download(Path(scratch))
        try:
            content = archive.read_bytes()
        except OSError as error:
            raise FetchError(f"{archive} cannot be read: {error.strerror}") from None
        if hashlib.sha256(content).hexdigest() != SHA256:
            raise FetchError(f"{archive} is not the source distribution of chess {RELEASE}")
        unpacked = Path(scratch) / "unpacked"
        with tarfile.open(archive) as tar:
            for member in tar:
                parent, _, name = member.name.partition("/")[2].rpartition("/")
                source = tar.extractfile(member) if parent in FOLDERS else None
                if source is not None:
                    target = unpacked / FOLDERS[parent] / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with source, target.open("wb") as file:
                        shutil.copyfileobj(source, file)
        try:
            unpacked.rename(folder)
        except OSError:
            # Another process was faster.
            if not folder.is_dir():
                raise
    return folder


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "chess"]
    try:
        subprocess.run(
            [*command, "--dest", str(folder), f"chess=={RELEASE}"], check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        error_lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines() or ["no reason given"]
        raise FetchError(
            f"pip cannot download the source distribution of chess {RELEASE} ({error_lines[-1]}); "
            "fetch it in another way and name it with --sdist"
        ) from None
    return folder / f"chess-{RELEASE}.tar.gz"


Comparison = Callable[[Iterable[Batch]], Iterator[list[str]]]
"""A function that maps batches to the results of :meth:`Published.differences`, in the same order."""

_published: Published


@contextmanager
def comparison(folder: Path, jobs: int) -> Iterator[Comparison]:
    """Yield a function that compares batches in this process, or in several processes."""
    if jobs == 1:
        with Published(folder) as published:
            yield lambda batches: map(published.differences, batches)
    else:
        with ProcessPoolExecutor(jobs, initializer=_open_published, initargs=(folder,)) as pool:
            yield lambda batches: pool.map(_differences, batches)


def _open_published(folder: Path) -> None:
    global _published
    _published = Published(folder)


def _differences(batch: Batch) -> list[str]:
    return _published.differences(batch)


def compare(material: Material, args: argparse.Namespace, find: Comparison, progress: ProgressLine) -> bool:
    """Compare one table, print a line, and return whether it agrees."""
    start = time.perf_counter()
    sample = sys.maxsize if material.men <= 3 else args.sample
    batch = choose(table_path(args.dir, material.name, Variant.R_MOBILITY), material, sample, args.seed)
    lines: list[str] = []
    for part, differences in enumerate(find(batch.parts(BATCH)), 1):
        lines += differences
        done = min(part * BATCH, len(batch))
        progress.show(f"{material}: {done:,} of {len(batch):,} positions")
    progress.clear()
    mates = int(np.count_nonzero(batch.verdict))
    en_passant = int(np.count_nonzero(batch.ep_square >= 0))
    notes = f", {en_passant:,} of them en passant" * (en_passant > 0) + ", depths compared" * batch.with_mates
    print(
        f"{material!s:6} {len(batch):8,} positions, {mates:8,} mates, {len(lines)} differ"
        f" ({duration(time.perf_counter() - start)}){notes}",
        flush=True,
    )
    for line in lines[:MAX_SHOWN]:
        print(f"  {line}")
    return not lines


def run(args: argparse.Namespace) -> int:
    """Compare the named tables, and return the exit code."""
    materials = [Material.parse(name) for name in args.materials] or all_materials(4)[1:]
    for material in materials:
        if not 3 <= material.men <= 4:
            raise UsageError(f"{material} cannot be compared: the published tables are of 3 and 4 men")
    folder = fetch(args.sdist, args.cache)
    progress = ProgressLine()
    with comparison(folder, args.jobs) as find:
        agreements = [compare(material, args, find, progress) for material in materials]
    return 0 if all(agreements) else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=Path, default=default_directory(), help="folder of the tables")
    parser.add_argument(
        "--materials", nargs="+", default=[], metavar="NAME", help="default: all of 3 and 4 men"
    )
    parser.add_argument(
        "--sample", type=int, default=100_000, help="positions of each table of 4 men (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (default: %(default)s)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)"
    )
    parser.add_argument("--sdist", type=Path, help="source distribution of chess, instead of a download")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder to keep the published tables in")
    try:
        return run(parser.parse_args())
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
