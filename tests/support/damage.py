"""What a damaged file must come to."""

from pathlib import Path

import pytest

from tbgen.board.material import Material
from tbgen.errors import DamagedTableError
from tbgen.store.reader import TableFile


def refused(path: Path, *words: str) -> None:
    """Opening and checking the file gives one sentence that has the words, names the file and a remedy."""
    with pytest.raises(DamagedTableError) as caught, TableFile(path, material=Material.parse("KNvK")) as file:
        file.check()
    sentence = str(caught.value)
    assert str(path) in sentence
    assert f"tbgen build --force KNvK --dir {path.parent}" in sentence
    assert "\n" not in sentence
    for word in words:
        assert word in sentence
