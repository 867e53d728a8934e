"""``tbgen export`` as a command."""

import json
from pathlib import Path

import pytest

from tests.support.commands import answer, failure


def test_export(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "flat"
    text = answer(capsys, "export", str(target), "KQvK", "--dir", str(own), "--json")
    document = json.loads(text)
    assert document["directory"] == str(target)
    assert [
        (table["file"], table["material"], table["rules"], table["written"]) for table in document["tables"]
    ] == [
        ("KvK.r.flat", "KvK", "r", True),
        ("KQvK.r.flat", "KQvK", "r", True),
    ]
    assert document["bytes"] == sum(path.stat().st_size for path in target.iterdir())
    text = answer(capsys, "export", str(target), "--dir", str(own))
    assert text.startswith(f"{target}: 6 tables, ")
    assert text.endswith(", 4 written\n")


def test_export_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no tables" in failure(capsys, 3, "export", str(tmp_path / "flat"), "--dir", str(tmp_path))
    missing = failure(capsys, 3, "export", str(tmp_path / "flat"), "KQvK", "--dir", str(tmp_path))
    assert "tbgen build KQvK" in missing
