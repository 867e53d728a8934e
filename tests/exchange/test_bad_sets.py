"""Sets with a malformed list or wrong files."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbgen.errors import TbgenError
from tbgen.exchange.fetch import read_list
from tbgen.exchange.published import LIST_NAME, PublishedSet
from tbgen.exchange.sources import source_of
from tests.support.sets import KQVK, files, get, tampered
from tests.support.web_server import serving

BAD = ["KBvK.r.h5", KQVK, "KRvK.r.h5"]


Document = dict[str, Any]


def replaced(path: Path) -> None:
    path.write_bytes((path.parent / "KRvK.r.h5").read_bytes())


def test_a_wrong_file_that_came_whole_is_asked_for_once(spoilt: Path, tmp_path: Path) -> None:
    """If the server sends the whole file, no earlier data can be the cause, so there is no retry."""
    tampered(spoilt / KQVK)
    (tmp_path / f"{KQVK}.part").write_bytes(b"a beginning")
    with serving(spoilt, ranges=False) as server, pytest.raises(TbgenError, match="SHA-256 differs"):
        get(server.address, tmp_path, "KQvK")
    assert [asked for name, asked in server.asked if name == KQVK] == ["bytes=11-"]


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (tampered, "not the file that its set names"),
        (lambda path: path.write_bytes(path.read_bytes() + b"more"), "longer than its set says"),
        (lambda path: path.unlink(), "there is no"),
        (lambda path: path.write_bytes(b""), "ended after"),
    ],
)
def test_a_file_that_is_not_what_the_set_says(
    spoil: Callable[[Path], object], sentence: str, spoilt: Path, tmp_path: Path
) -> None:
    spoil(spoilt / KQVK)
    with serving(spoilt) as server, pytest.raises(TbgenError, match=sentence):
        get(server.address, tmp_path / "new", "KQvK")
    assert "KvK.r.h5" in files(tmp_path / "new")
    assert KQVK not in files(tmp_path / "new")
    with pytest.raises(TbgenError, match=sentence if sentence != "there is no" else "cannot be read"):
        get(str(spoilt), tmp_path / "new", "KQvK")


def test_files_that_cannot_be_had_keep_no_others_away(spoilt: Path, tmp_path: Path) -> None:
    tampered(spoilt / "KBvK.r.h5")
    (spoilt / KQVK).write_bytes((spoilt / KQVK).read_bytes()[:-5])
    (spoilt / "KRvK.r.h5").unlink()
    with serving(spoilt) as server, pytest.raises(TbgenError) as error:
        get(server.address, tmp_path / "new", jobs=4)
    names, reason = str(error.value).split(" could not be fetched; the first: ")
    assert sorted(names.split(", ")) == BAD
    assert f"/{names.split(', ')[0]}" in reason
    assert set(files(tmp_path / "new")) == {"KvK.r.h5", "KNvK.r.h5", "KPvK.r.h5", f"{KQVK}.part"}


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (replaced, "is not a usable table of KQvK for the rules r: it was rejected$"),
        (tampered, "is not a usable table of KQvK"),
        (lambda path: path.write_bytes(b"HDF"), "is not a usable table of KQvK"),
    ],
)
def test_a_list_that_lies(
    spoil: Callable[[Path], object], sentence: str, spoilt: Path, tmp_path: Path
) -> None:
    """A wrong file is rejected even if the list has its size and SHA-256."""
    spoil(spoilt / KQVK)
    data = (spoilt / KQVK).read_bytes()
    document = json.loads((spoilt / LIST_NAME).read_text())
    for entry in document["tables"]:
        if entry["file"] == KQVK:
            entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (spoilt / LIST_NAME).write_text(json.dumps(document))
    with pytest.raises(TbgenError, match=sentence):
        get(str(spoilt), tmp_path / "new", "KQvK")
    assert set(files(tmp_path / "new")) == {"KvK.r.h5"}
    document["tables"][0]["digest"] = "0" * 64
    (spoilt / LIST_NAME).write_text(json.dumps(document))
    with pytest.raises(TbgenError, match="does not have the content that its set states"):
        get(str(spoilt), tmp_path / "other", document["tables"][0]["material"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d | {"format": "junk"}, "Invalid enum value 'junk'"),
        (lambda d: d | {"version": 2}, "newer tbgen"),
        (lambda d: d | {"version": 2, "tables": [{"name": "otherwise"}]}, "newer tbgen"),
        (lambda d: {"format": "tbgen set"}, "missing required field `version`"),
        (lambda d: changed(d, file="../KvK.r.h5"), "is not the file of KvK"),
        (lambda d: changed(d, material="../K"), "is not a usable list of tables"),
        (lambda d: changed(d, rules="x"), "Invalid enum value 'x'"),
        (lambda d: changed(d, bytes=-1), r"Expected `int` >= 1 - at `\$.tables\[0\].bytes`"),
        (lambda d: changed(d, bytes=1 << 50), "Expected `int` <"),
        (lambda d: changed(d, sha256="00"), "matching regex"),
        (lambda d: d | {"tables": d["tables"] * 2}, "twice"),
    ],
)
def test_a_list_that_means_nothing(
    change: Callable[[Document], object], sentence: str, published: Path
) -> None:
    document = json.loads((published / LIST_NAME).read_text())
    with pytest.raises(TbgenError, match=sentence):
        PublishedSet.parse(json.dumps(change(document)).encode(), "the list")


def changed(document: Document, **facts: object) -> Document:
    first = next(entry for entry in document["tables"] if entry["material"] == "KvK")
    return document | {"tables": [first | facts]}


def test_no_list_at_all() -> None:
    for text, sentence in (
        (b"", "Input data was truncated"),
        (b"junk", "JSON is malformed"),
        (b"[" * 100_000, "Expected `object`, got `array`"),
        (b'{"bytes": ' + b"9" * 10_000 + b"}", "Object missing required field `format`"),
    ):
        with pytest.raises(TbgenError, match=f"the list is not a usable list of tables: {sentence}"):
            PublishedSet.parse(text, "the list")


def test_a_list_without_end(tmp_path: Path) -> None:
    (tmp_path / LIST_NAME).write_bytes(b" " * (33 << 20))
    with serving(tmp_path) as server, pytest.raises(TbgenError, match="too long"):
        read_list(source_of(server.address))
