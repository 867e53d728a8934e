"""``tbgen cache``: the directory of compiled kernels, and their removal."""

import pwd
from pathlib import Path

import pytest

from tbgen.compiler import cache as kernel_cache
from tbgen.errors import UsageError
from tbgen.uci.process import find_command
from tests.support.commands import Capture, answer, document, failure


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


def test_a_user_without_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Kernels are stored until the process ends, and ~ is a name like others."""
    monkeypatch.setenv("TBGEN_KERNELS", str(tmp_path / "temporary"))
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", lambda number: {}[number])
    assert "set NUMBA_CACHE_DIR" in failure(capsys, 2, "cache")
    assert kernel_cache.store("one", b"code")
    assert (tmp_path / "temporary" / "one").exists()
    with pytest.raises(UsageError, match="there is no program"):
        find_command("~/engine", (), tmp_path)
