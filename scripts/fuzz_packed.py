#!/usr/bin/env python3
"""Test that kernels stay within their arrays on forged packed tables with correct checksums.

Some small tables are packed. Then kernels are compiled with bounds checks, which takes minutes once, into a
separate cache. Datasets and attributes of the tables are changed at random, and all checksums corrected. Each
table is then checked, probed one by one, in batches and in arrays, and unpacked. It passes if tbgen answers
or raises an error of its own. Any other outcome is printed with its number, for ``--first``, and the exit
code is 1.

    scripts/fuzz_packed.py --dir data --number 10000

``--dir`` has the plain tables of up to three men, and those of four that ``--materials`` names.
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
from tbgen.index.layout import SIDES, Slot
from tbgen.index.table import NO_SCORE, AccruedForm, free_men, pawns
from tbgen.packed.encode import packed_content
from tbgen.packed.file import PackedFile
from tbgen.packed.kernels.blocks import checksum
from tbgen.packed.pack import NeedFinder
from tbgen.packed.sources import Sources
from tbgen.packed.tables import read_table
from tbgen.progress import silent
from tbgen.retro.solver import solve
from tbgen.store import schema
from tbgen.store.dataset import AnyArray, Dataset
from tbgen.store.format import GZIP_LEVEL, table_path
from tbgen.store.schema import PACKED, DatasetSchema, Manifest, manifest_of
from tbgen.store.table_file import TableFile
from tbgen.store.writer import write_table

R = Variant.R_MOBILITY
CODED = (
    (schema.VALUE_DATA, schema.VALUE_LENGTH, schema.VALUE_CHECK),
    (schema.FUNCTION_DATA, schema.FUNCTION_LENGTH, schema.FUNCTION_CHECK),
)
FACTS = ("runs", "max_depth", "ep_positions", "accrued")
ASKED = 40
"""Number of positions of each side."""

Arrays = dict[DatasetSchema, AnyArray]


def pack(material: Material, tables: Path, out: Path) -> None:
    """Write the packed table of a material, and plain sub-tables."""
    for sub in closure([material])[:-1]:
        shutil.copy(table_path(tables, sub.name, R), out)
    with TableFile(table_path(tables, material.name, R)) as file, Sources(out, R) as sources:
        finder = NeedFinder(file.layout)
        table = solve(
            material,
            sources.sub_tables_of(material),
            R,
            accrued=AccruedForm.FUNCTIONS,
            side=finder.side,
            after_phase=finder,
        )
        content = packed_content(table, finder.needed())
    write_table(table, table_path(out, material.name, R), version="fuzz", build_seconds=0, content=content)


def mangled(data: AnyArray, chance: random.Random) -> AnyArray:
    """Return an array with other elements, or other lengths along its axes."""
    data, top = data.copy(), np.iinfo(data.dtype).max
    match chance.randrange(8):
        case 0 if data.size:
            axis = chance.randrange(data.ndim)
            return np.take(data, range(chance.randrange(data.shape[axis] + 1)), axis)
        case 1 if data.size:
            return np.concatenate([data, data[: chance.randrange(1, 300)]])
        case 2:
            data[...] = chance.choice((0, 1, top // 2, top))
        case 3:
            np.random.default_rng(chance.getrandbits(32)).shuffle(data.reshape(-1))
        case 4:
            data[...] = np.frombuffer(chance.randbytes(data.nbytes), data.dtype).reshape(data.shape)
        case _ if data.size:
            for _ in range(chance.choice((1, 1, 3, 100))):
                value = chance.choice((0, 1, top, top // 2, chance.randrange(top)))
                data.reshape(-1)[chance.randrange(data.size)] = value
    return data


def with_checks(arrays: Arrays, chance: random.Random) -> None:
    """Mostly make lengths of blocks add up to their bytes, and correct their checksums."""
    for data, length, check in CODED:
        if chance.randrange(10) and len(lengths := arrays[length]):
            most = int(lengths.sum(dtype=np.int64))
            arrays[data] = np.resize(arrays[data], most) if len(arrays[data]) else np.zeros(most, np.uint8)
        ends = np.cumsum(arrays[length], dtype=np.int64)
        checks = np.zeros(len(ends), np.uint16)
        for number, end in enumerate(np.minimum(ends, len(arrays[data])).tolist()):
            begin = min(end - int(arrays[length][number]), end) if number else 0
            checks[number] = python_of(checksum)(arrays[data], max(begin, 0), end)
        arrays[check] = checks


def change(path: Path, chance: random.Random) -> None:
    """Change a packed table and its checksums."""
    with h5py.File(path, "r+") as file:
        arrays: Arrays = {wanted: file[wanted.name][...] for wanted in PACKED.datasets}
        for wanted in chance.sample(PACKED.datasets, chance.choice((0, 1, 1, 1, 2, 3))):
            arrays[wanted] = mangled(arrays[wanted], chance)
        with_checks(arrays, chance)
        facts: dict[str, Any] = PACKED.decode(file.attrs)
        facts["runs"] = len(arrays[schema.FUNCTION_ACCRUED])
        if chance.randrange(4) == 0:
            facts[chance.choice(FACTS)] = chance.choice((0, 1, 2, 1 << 20))
        if chance.randrange(20) == 0:
            file.attrs["stored_side"] = 1 - file.attrs["stored_side"]
        for wanted, data in arrays.items():
            del file[wanted.name]
            dataset = Dataset(wanted, data.dtype, np.ascontiguousarray(data))
            packing = {"compression": GZIP_LEVEL, "fletcher32": True, "chunks": dataset.chunks}
            file.create_dataset(wanted.name, data=data, **({} if wanted.raw or not data.size else packing))
        lines = [
            Dataset(each, data.dtype, np.ascontiguousarray(data)).manifest_line()
            for each, data in arrays.items()
        ]
        content = Manifest(facts["manifest"]).lines[1 + len(PACKED.manifest_attributes) :]
        manifest = manifest_of(PACKED, facts, content)
        file.attrs.update({name: facts[name] for name in FACTS})
        file.attrs["stored"] = np.bytes_("".join(f"{line}\n" for line in lines))
        file.attrs["manifest"], file.attrs["digest"] = np.bytes_(manifest.text), np.bytes_(manifest.digest)


class Trial:
    """A packed table in a directory, and positions to probe in it."""

    def __init__(self, material: Material, tables: Path, directory: Path) -> None:
        self.material, self.directory = material, directory
        self.path = table_path(directory, material.name, R)
        self.whole = self.path.read_bytes()
        with TableFile(table_path(tables, material.name, R)) as file:
            self.value, self.layout = file.read_fresh()[0], file.layout
        self.letters = f"{free_men(self.layout)}{pawns(self.layout)}".replace(" ", "")

    def run(self, number: int) -> Iterator[str]:
        """Change the table by a random seed, probe it, and yield the outcome of each way to probe."""
        chance = random.Random(number)
        other = self.path.with_name("changed")  # the one before may still be open
        other.write_bytes(self.whole)
        change(other, chance)
        other.replace(self.path)
        slots = [chance.choices(np.flatnonzero(self.value[side] != NONE).tolist(), k=ASKED) for side in SIDES]
        with Tablebase(self.directory) as tables:
            for ask in (self._check, self._one_by_one, self._in_arrays, self._whole):
                try:
                    ask(tables, slots, chance)
                    yield "answered"
                except TbgenError:
                    yield "refused"

    def _check(self, *_: Any) -> None:
        with PackedFile(self.path) as file:
            file.check()
            file.counts()

    def _one_by_one(self, tables: Tablebase, slots: list[list[int]], chance: random.Random) -> None:
        values = tables._values
        table = values.table(self.material)
        for side in SIDES:
            codes = map(Code, chance.choices((NO_SCORE, 2, 5, 250, 252), k=ASKED))
            questions = [(side, Slot(slot), code) for slot, code in zip(slots[side], codes, strict=True)]
            table.learn(questions)
            for _, slot, code in questions:
                try:
                    entry = table.fresh(side, slot)
                    if code != NO_SCORE and min(code, 255 - code) <= min(entry[0], 255 - entry[0]):
                        table.accrued(side, slot, code)
                except TbgenError:
                    continue

    def _in_arrays(self, tables: Tablebase, slots: list[list[int]], chance: random.Random) -> None:
        for side in SIDES:
            squares = squares_of(self.layout, np.array(slots[side]))
            tables.probe_arrays(self.letters, squares, np.full(len(squares), int(side)))
            accrued = np.array(chance.choices((NONE, 3, 251), k=len(squares)), np.uint8)
            tables.probe_arrays(self.letters, squares, np.full(len(squares), int(side)), accrued)

    def _whole(self, *_: Any) -> None:
        with PackedFile(self.path) as file, Sources(self.directory, R) as sources:
            read_table(file, lambda: sources.sub_tables_of(self.material), 2, silent)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=Path, required=True, help="plain tables")
    parser.add_argument("--number", type=int, default=10_000, help="tables to make")
    parser.add_argument("--first", type=int, default=0, help="the first of their numbers")
    parser.add_argument(
        "--materials", nargs="+", type=Material.parse, default=[*map(Material.parse, ("KNvK", "KPvK"))]
    )
    options = parser.parse_args()
    said, failed = Counter[str](), 0
    with tempfile.TemporaryDirectory() as place:
        directories = [Path(place, material.name) for material in options.materials]
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
                said.update(trials[number % len(trials)].run(number))
            except Exception as error:  # every exception is a finding
                failed += 1
                print(f"{number}: {type(error).__name__}: {error}", flush=True)
    told = ", ".join(f"{count:,} times {what}" for what, count in said.items())
    print(f"{options.number:,} tables: {told}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
