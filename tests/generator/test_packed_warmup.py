"""All kernels that write tables and look up positions are compiled in advance, none during the work."""

from pathlib import Path
from typing import Any, cast

from tbgen import open_tablebase
from tbgen.generator import packed_warmup
from tbgen.tables.kernels import encode
from tests.support.packed_tables import pack
from tests.tables.test_batch import states

KERNELS = encode.count_blocks, encode.encode_blocks, encode.decode_blocks


def test_a_kernel_has_one_signature(three_men: Path, tmp_path: Path) -> None:
    """Single positions and batches, tables in files and in memory use the same compiled kernels."""
    packed_warmup.compile_encoding()
    pack(three_men, "KPvK", tmp_path)
    boards, scores = states(("KPvK",), 200)
    with open_tablebase(tmp_path, three_men) as one, open_tablebase(tmp_path, three_men) as other:
        assert list(one.probe_many(boards, scores)) == list(map(other.probe, boards, scores))
    for kernel in KERNELS:
        assert len(cast(Any, kernel).entry.signatures) == 1, kernel
