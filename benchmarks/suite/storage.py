"""Table files: the costs of chunk sizes and compression levels (``CHUNK_BYTES`` and ``GZIP_LEVEL`` of
tbgen/store/format.py). Seconds of wall time, since writing uses two threads."""

import tempfile
from pathlib import Path

from suite.material import tables

LOOK_UPS = 500


class Format:
    """KBNvK written with a chunk size in KiB and a level of gzip."""

    params = ([4, 16, 64], [1, 4, 6])
    param_names = ("KiB", "level")
    repeat = (2, 4, 10.0)
    rounds = 1

    def setup(self, kib: int, level: int) -> None:
        import numpy as np

        from tbgen.board.score import NONE
        from tbgen.store import dataset, writer
        from tbgen.store.cache import ChunkCache
        from tbgen.tables.files import open_table

        vars(dataset)["CHUNK_BYTES"], vars(writer)["GZIP_LEVEL"] = kib << 10, level
        with open_table(tables() / "KBNvK.r.h5") as file:
            self.table = file.read()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "KBNvK.r.h5"
        self.time_write(kib, level)
        sides, slots = np.nonzero(self.table.value != NONE)
        chosen = np.random.default_rng(0).integers(0, len(slots), LOOK_UPS)
        self.asked = list(zip(sides[chosen].tolist(), slots[chosen].tolist(), strict=True))
        self.cold = open_table(self.path, cache=ChunkCache(0))
        self.warm = open_table(self.path, cache=ChunkCache(1 << 30))
        self.time_500_warm_look_ups(kib, level)

    def teardown(self, kib: int, level: int) -> None:
        self.cold.close()
        self.warm.close()
        self.folder.cleanup()

    def time_write(self, kib: int, level: int) -> None:
        from tbgen.tables.files import write_table

        write_table(self.table, self.path, version="benchmark", build_seconds=0.0)

    def time_read(self, kib: int, level: int) -> None:
        self.cold.read()

    def time_500_cold_look_ups(self, kib: int, level: int) -> None:
        for side, slot in self.asked:
            self.cold.fresh(side, slot)

    def time_500_warm_look_ups(self, kib: int, level: int) -> None:
        for side, slot in self.asked:
            self.warm.fresh(side, slot)

    def track_size(self, kib: int, level: int) -> int:
        return self.path.stat().st_size

    track_size.unit = "bytes"  # type: ignore[attr-defined]


class Filters:
    """Detection by filters of HDF5 of 200 flipped bits in the chunks of KBNvK's values."""

    params = ("fletcher32", "gzip", "gzip and fletcher32")
    param_names = ("filters",)
    flips = 200

    def track_read_as_wrong_data(self, filters: str) -> int:
        return self.read(filters)[0]

    def track_noticed(self, filters: str) -> int:
        return self.read(filters)[1]

    def read(self, filters: str) -> tuple[int, int]:
        """Return the numbers of flips that were read as wrong data and that were detected; others are
        harmless."""
        import h5py
        import numpy as np

        from tbgen.tables.files import open_table

        with open_table(tables() / "KBNvK.r.h5") as file:
            value = file.read().value[:, : 16 * 16384]
        rng = np.random.default_rng(1)
        wrong, noticed = 0, 0
        packing = {"compression": 4 if "gzip" in filters else None, "fletcher32": "fletcher32" in filters}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "flipped.h5"
            with h5py.File(path, "w", libver="latest") as file:
                stored = file.create_dataset("value", data=value, chunks=(1, 16384), **packing)
                chunks = [stored.id.get_chunk_info(index) for index in range(stored.id.get_num_chunks())]
            whole = path.read_bytes()
            for _ in range(self.flips):
                chunk = chunks[rng.integers(len(chunks))]
                damaged = bytearray(whole)
                damaged[chunk.byte_offset + int(rng.integers(chunk.size))] ^= 1 << int(rng.integers(8))
                path.write_bytes(damaged)
                with h5py.File(path, "r") as file:
                    try:
                        wrong += not np.array_equal(file["value"][...], value)
                    except OSError:
                        noticed += 1
        return wrong, noticed
