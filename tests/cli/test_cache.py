"""``tbgen cache``: where compiled kernels lie, and their removal."""

import json
from pathlib import Path

import pytest

from tbgen.cli.main import main


def test_the_cache_is_shown_and_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    old = tmp_path / "kernels" / "retro.kernels.bits-0123456789abcdef" / "kernel.nbc"
    old.parent.mkdir(parents=True)
    old.write_bytes(bytes(2048))
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/kernels: 0.0 KiB of this version, 2.0 KiB of others\n"
    assert main(["cache", "--clear", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "directory": str(tmp_path / "kernels"),
        "current_bytes": 0,
        "other_bytes": 2048,
        "cleared": True,
    }
    assert list(tmp_path.iterdir()) == []
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.endswith(": 0.0 KiB of this version, 0.0 KiB of others\n")
