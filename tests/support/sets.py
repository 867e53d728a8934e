"""Published sets of tables, and what is fetched of them."""

from pathlib import Path

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.exchange.fetch import fetch, plan_tables, read_list
from tbgen.exchange.published import PublishedFile
from tbgen.exchange.sources import source_of

R = (Variant.R_MOBILITY,)
KQVK = "KQvK.r.h5"


class Report:
    def __init__(self) -> None:
        self.bytes = 0
        self.tables: list[str] = []

    def on_bytes(self, size: int) -> None:
        self.bytes += size

    def on_file(self, table: PublishedFile) -> None:
        self.tables.append(table.file)

    def on_wait(self) -> None:
        raise AssertionError("nothing else is fetched")


def get(address: str, directory: Path, *names: str, jobs: int = 1) -> Report:
    source, report = source_of(address), Report()
    materials = [Material.parse(name) for name in names] or None
    to_do = plan_tables(read_list(source), directory, R, materials, origin=address)
    fetch(to_do, source, jobs=jobs, report=report)
    assert report.bytes == to_do.bytes_to_receive
    return report


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def tampered(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
