"""``tbgen cache``: the directory of compiled kernels, and their removal."""

from pathlib import Path

import pytest

from tests.support.commands import Capture, answer, document


def test_the_cache_is_shown_and_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    old = tmp_path / "kernels" / "retro.kernels.bits-0123456789abcdef" / "kernel.nbc"
    old.parent.mkdir(parents=True)
    old.write_bytes(bytes(2048))
    assert answer(capsys, "cache") == f"{tmp_path}/kernels: 0.0 KiB of this version, 2.0 KiB of others\n"
    assert document(capsys, "cache", "--clear") == {
        "directory": str(tmp_path / "kernels"),
        "current_bytes": 0,
        "other_bytes": 2048,
        "cleared": True,
    }
    assert list(tmp_path.iterdir()) == []
    assert answer(capsys, "cache").endswith(": 0.0 KiB of this version, 0.0 KiB of others\n")
