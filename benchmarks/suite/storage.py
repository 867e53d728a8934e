"""Table files: what their chunk size and level of compression cost, as section "Why this chunk size" of
docs/format.md has it. Seconds by the clock, since writing uses two threads."""

import tempfile
from pathlib import Path

from suite.material import tables

LOOK_UPS = 500


class Format:
    """KBNvK written with some chunk size in KiB and level of gzip."""

    params = ([4, 16, 64], [1, 4, 6])
    param_names = ("KiB", "level")
    repeat = (2, 4, 10.0)
    rounds = 1

    def setup(self, kib: int, level: int) -> None:
        import numpy as np

        from tbgen.score import NONE
        from tbgen.store import dataset, writer
        from tbgen.store.cache import ChunkCache
        from tbgen.store.reader import TableFile

        vars(dataset)["CHUNK_BYTES"], vars(writer)["GZIP_LEVEL"] = kib << 10, level
        with TableFile(tables() / "KBNvK.r.h5") as file:
            self.table = file.read()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "KBNvK.r.h5"
        self.time_write(kib, level)
        sides, slots = np.nonzero(self.table.value != NONE)
        chosen = np.random.default_rng(0).integers(0, len(slots), LOOK_UPS)
        self.asked = list(zip(sides[chosen].tolist(), slots[chosen].tolist(), strict=True))
        self.cold = TableFile(self.path, cache=ChunkCache(0))
        self.warm = TableFile(self.path, cache=ChunkCache(1 << 30))
        self.time_500_warm_look_ups(kib, level)

    def teardown(self, kib: int, level: int) -> None:
        self.cold.close()
        self.warm.close()
        self.folder.cleanup()

    def time_write(self, kib: int, level: int) -> None:
        from tbgen.store.writer import write_table

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
