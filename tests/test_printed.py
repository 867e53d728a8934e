"""The output of commands and the answers of the HTTP API are as recorded."""

from pathlib import Path

import pytest

from tests.support.printed import PRINTED, names, recorded


@pytest.mark.parametrize("name", names())
def test_output_is_as_recorded(name: str, whole_game_tables: Path) -> None:
    """If a change is meant, ``python -m tests.support.printed NAME`` records it anew."""
    assert recorded(name, whole_game_tables) == (PRINTED / f"{name}.txt").read_text()
