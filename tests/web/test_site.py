"""The files of a site, and refusals."""

import base64
import errno
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import h5py
import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingTableError, NoTablesError, TbgenError, UsageError
from tbgen.exchange.fetch import plan_tables, read_list
from tbgen.exchange.sources import source_of
from tbgen.tables.inventory import inventory
from tbgen.web.site import write_site
from tests.support.packed_tables import PackedTables

R = (Variant.R_MOBILITY,)


def names(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def test_a_site_is_a_set_with_the_page(own: Path, tmp_path: Path) -> None:
    """A site's pages refer to existing files by their full names; its tables can be fetched."""
    target = tmp_path / "site"
    published = write_site(own, target, R, [Material.parse("KQvK")])
    assert [table.file for table in published.tables] == ["KvK.r.h5", "KQvK.r.h5"]
    found = names(target)
    assert {"index.html", "play.html", "puzzles.html", "embed.html", "page/static/source.js"} <= found
    assert {name for name in found if name.startswith("tables/")} == {
        f"tables/{name}"
        for name in ("KvK.r.h5", "KvK.r.json", "KQvK.r.h5", "KQvK.r.json", "SHA256SUMS", "tbgen-set.json")
    }
    assert not [name for name in found if "live" in name]
    for page in (name for name in found if name.endswith(".html")):
        text = (target / page).read_text()
        assert '<html data-static="" lang' in text
        assert 'rel="modulepreload" href="page/static/source.js"' in text
        assert text.index("Content-Security-Policy") < text.index("<link")
        assert not re.search(r'rel="stylesheet"|<script src', text)  # nothing more to wait for
        for content in re.findall(r"<(?:style|script)>(.*?)</", text, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in text, page
        for link in re.findall(r'(?:href|src|data-page)="([^"#]+)"', text):
            assert link in found or link in ("./", "openapi.json", "live.html", "report/"), (page, link)
    to_do = plan_tables(read_list(source_of(str(target / "tables"))), tmp_path, R, None, origin="")
    assert [table.file for table in to_do.files_to_fetch] == ["KvK.r.h5", "KQvK.r.h5"]


def test_a_table_is_listed_with_where_its_data_lie(own: Path, tmp_path: Path) -> None:
    write_site(own, tmp_path / "site", R)
    listed: dict[str, Any] = json.loads((tmp_path / "site" / "tables" / "KPvK.r.json").read_bytes())
    (entry,) = inventory(own, Variant.R_MOBILITY, [Material.parse("KPvK")], counts=True)
    stated = entry.document().builtins()
    assert stated == {name: listed[name] for name in stated}
    with h5py.File(own / "KPvK.r.h5", locking=False) as file:
        assert {name: file.attrs[name].decode() for name in ("free_men", "pawns")} == {
            name: listed[name] for name in ("free_men", "pawns")
        }
        for name, dataset in listed["datasets"].items():
            ids = file[name].id
            stored = {}
            if 0 not in file[name].shape:
                ids.chunk_iter(lambda chunk, stored=stored: stored.update({chunk.byte_offset: chunk.size}))
            places = {}
            for start, *sizes in dataset["pieces"]:
                for size in sizes:
                    places[start] = size
                    start += size
            assert {start: size for start, size in places.items() if size} == stored, name


def test_a_site_is_written_anew(own: Path, tmp_path: Path) -> None:
    """Earlier tables stay, as in any set; other directories are refused."""
    target = tmp_path / "site"
    write_site(own, target, R, [Material.parse("KQvK")])
    (target / "index.html").write_text("of old")
    assert len(write_site(own, target, R, [Material.parse("KRvK")]).tables) == 3
    assert "of old" not in (target / "index.html").read_text()
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "thesis.tex").touch()
    with pytest.raises(UsageError, match="has other files: choose an empty directory"):
        write_site(own, tmp_path / "others", R)
    assert names(tmp_path / "others") == {"thesis.tex"}
    with pytest.raises(TbgenError, match="a file is in the way"):
        write_site(own, tmp_path / "others" / "thesis.tex", R)


def test_tables_that_a_site_cannot_have(own: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    with pytest.raises(NoTablesError):
        write_site(tmp_path, target, R)
    with pytest.raises(MissingTableError, match="KBNvK"):
        write_site(own, target, R, [Material.parse("KBNvK")])
    with pytest.raises(UsageError, match="KBNvKR has more than 4 men"):
        write_site(own, target, R, [Material.parse("KBNvKR")])
    with pytest.raises(UsageError, match="described men"):
        write_site(own, target, R, [Material.parse("K[WD]vK")])
    assert not target.exists()
    with h5py.File(own / "KQvK.r.h5", "r+") as file:
        file["value"][1, 77] ^= 1
    with pytest.raises(DamagedTableError, match="KQvK"):
        write_site(own, target, R, [Material.parse("KQvK")])
    assert not (target / "index.html").exists()


@pytest.mark.slow
def test_a_packed_table_is_refused(packed: PackedTables, tmp_path: Path) -> None:
    path = packed("KQvK")
    (tmp_path / "tables").mkdir()
    for each in (path, packed.plain / "KvK.r.h5"):
        os.link(each, tmp_path / "tables" / each.name)
    with pytest.raises(UsageError, match="is packed, and the page of a site reads plain tables"):
        write_site(tmp_path / "tables", tmp_path / "site", R, [Material.parse("KQvK")])


def test_a_full_disk(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is reported, and the first page is not written; with free space it succeeds."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    target = tmp_path / "site"
    with monkeypatch.context() as patched:
        patched.setattr("tbgen.system.files.put_in_place", full)
        with pytest.raises(TbgenError, match="the disk is full"):
            write_site(own, target, R)
    assert not (target / "index.html").exists()
    write_site(own, target, R)
    assert (target / "index.html").exists()
