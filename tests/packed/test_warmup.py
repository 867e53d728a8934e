"""What is compiled ahead is what tables are written and asked with: nothing is compiled amid the work."""

from pathlib import Path
from typing import Any, cast

import pytest

from tbgen import open_tablebase
from tbgen.compiler import cache
from tbgen.packed import asking, warmup
from tbgen.packed.kernels import encode, probe, questions
from tests.packed.test_batch import states
from tests.support.packed_tables import pack

KERNELS = (
    *(questions.ask, questions.answer, probe.follow),
    *(encode.count_blocks, encode.encode_blocks, encode.decode_blocks),
)


def test_a_kernel_has_one_signature(three_men: Path, tmp_path: Path) -> None:
    """Alone, in batches, from a file and before there is one."""
    warmup.compile_questions()
    warmup.compile_answers()
    warmup.compile_encoding()
    pack(three_men, "KPvK", tmp_path)
    boards, scores = states(("KPvK",), 200)
    with open_tablebase(tmp_path, three_men) as one, open_tablebase(tmp_path, three_men) as other:
        assert list(one.probe_many(boards, scores)) == list(map(other.probe, boards, scores))
    for kernel in KERNELS:
        assert len(cast(Any, kernel).entry.signatures) == 1, kernel


def test_whether_probes_have_to_wait_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anybody asks, and whoever compiles is told."""
    compiled: list[None] = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(warmup, "compile_asking", lambda: compiled.append(None))
    cache.directory.cache_clear()
    try:
        assert not cache.is_compiled(asking.FAMILY)
        notes: list[str] = []
        for _ in range(2):
            asking.ensure_compiled(notes.append)
            assert cache.is_compiled(asking.FAMILY)
    finally:
        cache.directory.cache_clear()
    assert len(compiled) == len(notes) == 1
    assert "that probe packed tables" in notes[0]
