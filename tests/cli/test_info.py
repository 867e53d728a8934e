"""``tbgen info``: existing tables, missing tables, and digests to compare."""

import hashlib
import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from tbgen import __version__
from tbgen.board.material import all_materials
from tbgen.board.variant import Variant
from tbgen.store.format import table_path
from tbgen.store.schema import PACKED
from tbgen.tables.files import open_table, write_table
from tbgen.text import size_text
from tests.support.commands import Capture, answer, document, said
from tests.support.packed_tables import PackedTables

pytestmark = pytest.mark.usefixtures("default_directory")


def test_layers_beside_a_table(reference_dir: Path, tmp_path: Path, capsys: Capture) -> None:
    """Layers are named with their table and in the totals; without layers they are not mentioned."""
    assert "layer" not in answer(capsys, "info") + answer(capsys, "info", "KNvK")
    for name in ("KvK", "KNvK"):
        shutil.copy(reference_dir / f"{name}.r.h5", tmp_path)
    kvk, knvk = ((tmp_path / f"{name}.r.h5").stat().st_size for name in ("KvK", "KNvK"))
    for name, mebibytes in (("KNvK.r.G3.5", 1), ("KNvK.r.-G3.5", 2), ("KNNvK.r.G3.5", 5)):
        (tmp_path / f"{name}.layer.h5").write_bytes(bytes(mebibytes << 20))
    words = ["info", "--dir", str(tmp_path)]
    title, *lines = answer(capsys, *words).splitlines()
    size, together = size_text(kvk + knvk), size_text(kvk + knvk + (3 << 20))
    assert title == (f"{tmp_path}: 2 of 36 tables, {size}, and 2 layers of 3.00 MiB beside them: {together}")
    (line,) = [line for line in lines if line.endswith(f"tbgen {__version__}, 2 layers of 3.00 MiB")]
    assert line.startswith("KNvK ")
    assert "kept beside    2 layers of 3.00 MiB" in answer(capsys, *words, "KNvK").splitlines()
    found = document(capsys, *words)
    assert (found["bytes"], found["layer_bytes"]) == (kvk + knvk, 3 << 20)
    assert [(table["layers"], table["layer_bytes"]) for table in found["tables"]] == [(0, 0), (2, 3 << 20)]


def test_a_table_that_cannot_be_used_ends_nothing(
    reference_dir: Path, tmp_path: Path, capsys: Capture
) -> None:
    """Any attributes are handled, such as a number in place of a text, which would be read as a length."""
    for name, wrong in (
        ("parameters", 1 << 62),
        ("parameters", b"[" * 30_000),
        ("positions", -1),
        ("positions", [1, 2, 3]),
        ("runs", float("inf")),
        ("tbgen_version", b"\xff"),
    ):
        for table in ("KvK", "KNvK"):
            shutil.copy(reference_dir / f"{table}.r.h5", tmp_path)
        with h5py.File(tmp_path / "KNvK.r.h5", "r+") as file:
            file.attrs[name] = wrong
        text, (sentence,) = said(capsys, 1, "info", "--dir", str(tmp_path), "KNvK", "KvK")
        assert text.startswith("KvK  ("), name
        assert "KNvK.r.h5 cannot be used" in sentence


def test_what_is_missing_of_five_men(reference_dir: Path, tmp_path: Path, capsys: Capture) -> None:
    """Missing tables of five men are mentioned only if one exists, and named only if they are few."""
    for path in reference_dir.glob("*.r.h5"):
        shutil.copy(path, tmp_path)
    words = ["info", "--dir", str(tmp_path)]
    assert "men" not in answer(capsys, *words)
    five = [material for material in all_materials(5) if material.men == 5]
    table_path(tmp_path, five[0].name, Variant.R_MOBILITY).touch()
    title, *_, last = said(capsys, 1, *words)[0].splitlines()  # the file is empty
    assert title.startswith(f"{tmp_path}: 3 of 146 tables")
    assert last.endswith(" 109 of 110 with 5 men")
    assert len(json.loads(said(capsys, 1, *words, "--json")[0])["missing"]) == 33 + 109
    for material in five[10:]:
        table_path(tmp_path, material.name, Variant.R_MOBILITY).touch()
    text, _ = said(capsys, 1, *words)
    missing = text[text.index("missing: ") :].split()
    assert missing[-9:] == [material.name for material in five[1:10]]
    assert len(missing) == 1 + 33 + 9


def manifest(capsys: Capture, *words: str) -> list[list[str]]:
    return [line.split(" ") for line in answer(capsys, "info", "--manifest", *words).splitlines()]


def test_the_manifest(capsys: Capture, reference_dir: Path, tmp_path: Path) -> None:
    """Two directories can be compared line by line or by the last line, with and without accrued scores."""
    title, *tables, last = manifest(capsys)
    assert " ".join(title) == "# material rules fresh accrued digest"
    assert [table[:2] + table[3:4] for table in tables] == [
        [name, "r", "stored"] for name in ("KvK", "KBvK", "KNvK")
    ]
    for column, at in ((2, 2), (4, 4)):
        text = "".join(f"{line[0]} {line[1]} {line[column]}\n" for line in tables)
        assert last[at] == hashlib.sha256(text.encode()).hexdigest()
    assert last[:2] + last[3:4] == ["set", "r", "3"]
    found = document(capsys, "info", "--manifest")
    assert [[table["material"], table["fresh"], table["digest"]] for table in found["tables"]] == [
        [line[0], line[2], line[4]] for line in tables
    ]
    assert (found["fresh"], found["digest"]) == (last[2], last[4])
    for name in ("KvK", "KNvK"):
        shutil.copy(reference_dir / f"{name}.r.h5", tmp_path)
    with open_table(table_path(reference_dir, "KBvK", Variant.R_MOBILITY)) as file:
        table = file.read()
    table.run_mask, table.run_rank = np.zeros((2, 2, 0), np.uint64), table.run_rank[:0]
    table.run_value, table.run_depth = table.run_value[:0], table.run_depth[:0]
    write_table(table, table_path(tmp_path, "KBvK", Variant.R_MOBILITY), version="9.9", build_seconds=2.0)
    _, changed, alone = manifest(capsys, "KBvK", "--dir", str(tmp_path))
    assert (changed[2:4], alone[3]) == ([tables[1][2], "left-out"], "1")
    others = manifest(capsys, "--dir", str(tmp_path))
    assert [line == other for line, other in zip(tables, others[1:], strict=False)] == [True, False, True]
    assert others[-1][2] == last[2]
    assert others[-1][4] != last[4]


def test_the_manifest_of_what_is_not_there(capsys: Capture, tmp_path: Path) -> None:
    table_path(tmp_path, "KBvK", Variant.R_MOBILITY).write_bytes(b"something else")
    for words, code in ((["KvK"], 3), ([], 1), (["KvK", "KBvK"], 3)):
        out, told = said(capsys, code, "info", "--manifest", *words, "--dir", tmp_path)
        expected = ["KvK r missing"] * ("KvK" in words) + ["KBvK r damaged"] * (words != ["KvK"])
        assert out.splitlines()[1:] == expected
        assert [line.startswith("tbgen: ") for line in told] == [True] * len(expected)
    out, _ = said(capsys, 3, "info", "--manifest", "KvK", "KBvK", "--json", "--dir", tmp_path)
    found = json.loads(out)
    assert (found["missing"], list(found["damaged"])) == (["KvK"], ["KBvK"])
    assert (found["tables"], found["digest"]) == ([], None)


def test_packed_tables(capsys: Capture, three_men: Path, packed: PackedTables) -> None:
    """Packed tables are described with their form, and their values are counted as in plain ones."""
    where = ["--dir", str(packed("KNvK").parent)]
    text = answer(capsys, "info", "KNvK", *where)
    assert f"format         version {PACKED.version}, packed, rules r" in text.splitlines()
    assert "accrued values stored without depths, which are computed on demand" in text.splitlines()
    assert "plies, accrued scores not included" in text
    (line,) = [line for line in answer(capsys, "info", *where).splitlines() if line.startswith("KNvK ")]
    assert "plies  packed values " in line
    both = where, ["--dir", str(three_men)]
    one, other = (document(capsys, "info", "KNvK", *words)["tables"][0] for words in both)
    assert (one["form"], other["form"]) == ("packed", "plain")
    assert one["values"] == other["values"]
    (mine,), (right,) = (
        [line for line in manifest(capsys, "KNvK", *words) if line[0] == "KNvK"] for words in both
    )
    assert (mine[:3], mine[3], right[3]) == (right[:3], "values", "stored")
