#!/usr/bin/env python3
"""Test that kernels stay within their arrays on forged packed tables with correct checksums.

Some small tables are packed. Then kernels are compiled with bounds checks into a separate cache, which takes
minutes the first time. Datasets and attributes of the tables are changed at random, and all checksums are
corrected. Each table is then checked, probed position by position and in arrays, and unpacked. A table passes
if tbgen answers or raises a TbgenError. Any other outcome is printed with the number of the table, which
``--first`` accepts, and the exit code is 1.

    scripts/fuzz_packed.py --dir data --number 10000

``--dir`` must have the plain tables of the materials that ``--materials`` names, and their sub-tables.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import h5py
import numba
import numpy as np

from tbgen import Tablebase
from tbgen.board.material import Material, closure
from tbgen.board.score import NONE, Code
from tbgen.board.variant import Variant
from tbgen.compiler.jit import python_of
from tbgen.errors import TbgenError
from tbgen.index.arrays import squares_of
from tbgen.index.codes import NO_SCORE
from tbgen.index.layout import SIDES, Slot
from tbgen.index.table import AccruedForm, free_men_text, pawns_text
from tbgen.retro.solver import solve
from tbgen.store import schema
from tbgen.store.dataset import AnyArray, Dataset
from tbgen.store.format import GZIP_LEVEL, table_path
from tbgen.store.schema import PACKED, DatasetSchema, Manifest, manifest_of
from tbgen.tables.encode import packed_content
from tbgen.tables.files import open_table, write_table
from tbgen.tables.kernels.blocks import checksum
from tbgen.tables.library import Library
from tbgen.tables.pack import NeedFinder

R = Variant.R_MOBILITY
CHANGED_ATTRIBUTES = ("runs", "max_depth", "ep_positions", "accrued")
PROBES = 40
"""Number of probed positions per side to move."""

Arrays = dict[DatasetSchema, AnyArray]


def pack(material: Material, tables: Path, out: Path) -> None:
    """Write the packed table of a material, and copy its plain sub-tables."""
    for sub in closure([material])[:-1]:
        shutil.copy(table_path(tables, sub.name, R), out)
    with open_table(table_path(tables, material.name, R)) as file, Library(out, R) as library:
        finder = NeedFinder(file.layout)
        table = solve(
            material,
            library.sub_tables_of(material),
            R,
            accrued=AccruedForm.FUNCTIONS,
            side=finder.side,
            after_phase=finder,
        )
        content = packed_content(table, finder.stored_positions())
    write_table(table, table_path(out, material.name, R), version="fuzz", build_seconds=0, content=content)


def damaged(data: AnyArray, rng: random.Random) -> AnyArray:
    """Return an array with other elements, or other lengths along its axes."""
    data, top = data.copy(), np.iinfo(data.dtype).max
    match rng.randrange(8):
        case 0 if data.size:
            axis = rng.randrange(data.ndim)
            return np.take(data, range(rng.randrange(data.shape[axis] + 1)), axis)
        case 1 if data.size:
            return np.concatenate([data, data[: rng.randrange(1, 300)]])
        case 2:
            data[...] = rng.choice((0, 1, top // 2, top))
        case 3:
            np.random.default_rng(rng.getrandbits(32)).shuffle(data.reshape(-1))
        case 4:
            data[...] = np.frombuffer(rng.randbytes(data.nbytes), data.dtype).reshape(data.shape)
        case _ if data.size:
            for _ in range(rng.choice((1, 1, 3, 100))):
                value = rng.choice((0, 1, top, top // 2, rng.randrange(top)))
                data.reshape(-1)[rng.randrange(data.size)] = value
    return data


def correct_checks(arrays: Arrays, rng: random.Random) -> None:
    """Correct the checksums of blocks. In nine of ten cases, first make their bytes match their lengths."""
    lengths, data = arrays[schema.BLOCK_VALUE_LENGTH].astype(np.int64), arrays[schema.BLOCK_DATA]
    for dataset in (schema.BLOCK_DEPTH_LENGTH, schema.BLOCK_FUNCTION_LENGTH):
        more = arrays[dataset][: len(lengths)]
        lengths[: len(more)] += more
    edges = np.cumsum([0, *lengths.tolist()])
    if rng.randrange(10):
        data = np.resize(data, edges[-1]) if len(data) else np.zeros(edges[-1], np.uint8)
    checks = [python_of(checksum)(data, *edge) for edge in pairwise(np.minimum(edges, len(data)).tolist())]
    arrays[schema.BLOCK_DATA], arrays[schema.BLOCK_CHECK] = data, np.array(checks, np.uint16)


def change(path: Path, rng: random.Random) -> None:
    """Change a packed table and its checksums."""
    with h5py.File(path, "r+") as file:
        arrays: Arrays = {part: file[part.name][...] for part in PACKED.datasets}
        for part in rng.sample(PACKED.datasets, rng.choice((0, 1, 1, 1, 2, 3))):
            arrays[part] = damaged(arrays[part], rng)
        correct_checks(arrays, rng)
        attributes: dict[str, Any] = PACKED.decode(file.attrs)
        attributes["runs"] = len(arrays[schema.FUNCTION_ACCRUED])
        if rng.randrange(4) == 0:
            attributes[rng.choice(CHANGED_ATTRIBUTES)] = rng.choice((0, 1, 2, 1 << 20))
        if rng.randrange(20) == 0:
            file.attrs["stored_side"] = 1 - file.attrs["stored_side"]
        for part, data in arrays.items():
            del file[part.name]
            dataset = Dataset(part, data.dtype, np.ascontiguousarray(data))
            packing = {"compression": GZIP_LEVEL, "fletcher32": True, "chunks": dataset.chunks}
            file.create_dataset(part.name, data=data, **({} if part.raw or not data.size else packing))
        lines = [
            Dataset(part, data.dtype, np.ascontiguousarray(data)).manifest_line()
            for part, data in arrays.items()
        ]
        content = Manifest(attributes["manifest"]).lines[1 + len(PACKED.manifest_attributes) :]
        manifest = manifest_of(PACKED, attributes, content)
        file.attrs.update({name: attributes[name] for name in CHANGED_ATTRIBUTES})
        file.attrs["stored"] = np.bytes_("".join(f"{line}\n" for line in lines))
        file.attrs["manifest"], file.attrs["digest"] = np.bytes_(manifest.text), np.bytes_(manifest.digest)


class Trial:
    """A packed table in a directory, with positions to probe."""

    def __init__(self, material: Material, tables: Path, directory: Path) -> None:
        self.material = material
        self.directory = directory
        self.path = table_path(directory, material.name, R)
        self.original = self.path.read_bytes()
        with open_table(table_path(tables, material.name, R)) as file:
            self.value = file.read().value
            self.layout = file.layout
        self.letters = f"{free_men_text(self.layout)}{pawns_text(self.layout)}".replace(" ", "")

    def run(self, number: int) -> Iterator[str]:
        """Change the table at random with a seed, and yield the outcome of each way to probe it."""
        rng = random.Random(number)
        changed = self.path.with_name("changed")  # the previous table may still be open
        changed.write_bytes(self.original)
        change(changed, rng)
        changed.replace(self.path)
        slots = [rng.choices(np.flatnonzero(self.value[side] != NONE).tolist(), k=PROBES) for side in SIDES]
        with Tablebase(self.directory) as tables:
            for probe in (self._check, self._probe_one_by_one, self._probe_arrays, self._unpack):
                try:
                    probe(tables, slots, rng)
                    yield "answered"
                except TbgenError:
                    yield "refused"

    def _check(self, *_: Any) -> None:
        with open_table(self.path) as file:
            file.check()
            file.counts()

    def _probe_one_by_one(self, tables: Tablebase, slots: list[list[int]], rng: random.Random) -> None:
        table = tables.table_file(self.material)
        for side in SIDES:
            codes = map(Code, rng.choices((NO_SCORE, 2, 5, 250, 252), k=PROBES))
            questions = [(side, Slot(slot), code) for slot, code in zip(slots[side], codes, strict=True)]
            table.prefetch(questions)
            for _, slot, code in questions:
                try:
                    entry = table.fresh(side, slot)
                    if code != NO_SCORE and min(code, 255 - code) <= min(entry[0], 255 - entry[0]):
                        table.accrued(side, slot, code)
                except TbgenError:
                    continue

    def _probe_arrays(self, tables: Tablebase, slots: list[list[int]], rng: random.Random) -> None:
        for side in SIDES:
            squares = squares_of(self.layout, np.array(slots[side]))
            tables.probe_arrays(self.letters, squares, np.full(len(squares), int(side)))
            accrued = np.array(rng.choices((NONE, 3, 251), k=len(squares)), np.uint8)
            tables.probe_arrays(self.letters, squares, np.full(len(squares), int(side)), accrued)

    def _unpack(self, *_: Any) -> None:
        with Library(self.directory, R) as library:
            library.table(self.material).read_checked()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=Path, required=True, help="directory of plain tables")
    parser.add_argument("--number", type=int, default=10_000, help="number of tables to make (10000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first table (0)")
    parser.add_argument(
        "--materials", nargs="+", type=Material.parse, default=[*map(Material.parse, ("KNvK", "KPvK"))]
    )
    options = parser.parse_args()
    outcomes = Counter[str]()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        directories = [Path(folder, material.name) for material in options.materials]
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as packing:  # without bounds checks
            for material, directory in zip(options.materials, directories, strict=True):
                directory.mkdir()
                packing.submit(pack, material, options.dir, directory).result()
        vars(numba.config)["BOUNDSCHECK"] = 1
        os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir(), "tbgen-kernels-with-bounds"))
        trials = [
            Trial(*each)
            for each in zip(options.materials, [options.dir] * len(directories), directories, strict=True)
        ]
        for number in range(options.first, options.first + options.number):
            try:
                outcomes.update(trials[number % len(trials)].run(number))
            except Exception as error:  # every exception is a finding
                failed += 1
                print(f"{number}: {type(error).__name__}: {error}", flush=True)
    summary = ", ".join(f"{count:,} times {outcome}" for outcome, count in outcomes.items())
    print(f"{options.number:,} tables: {summary}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
