"""``tbgen export`` as a command."""

from pathlib import Path

from tests.support.commands import Capture, answer, document


def test_export(own: Path, tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "flat"
    found = document(capsys, "export", str(target), "KQvK", "--dir", str(own))
    assert found["directory"] == str(target)
    names = "file", "material", "rules", "written"
    assert [tuple(map(table.get, names)) for table in found["tables"]] == [
        *(("KvK.r.flat", "KvK", "r", True), ("KQvK.r.flat", "KQvK", "r", True)),
    ]
    assert found["bytes"] == sum(path.stat().st_size for path in target.iterdir())
    text = answer(capsys, "export", str(target), "--dir", str(own))
    assert text.startswith(f"{target}: 6 tables, ")
    assert text.endswith(", 4 written\n")
