"""Tables that lie now and then, to show that a script notices it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tbgen.probe.tablebase import Tablebase


def lie(monkeypatch: pytest.MonkeyPatch, field: str, where: Callable[[Any], bool]) -> None:
    """Let tables tell a wrong ``value`` or ``depth`` of positions for which ``where`` returns True."""
    real = Tablebase.probe

    def probe(self: Tablebase, board: Any, accrued: Any = None) -> Any:
        told = real(self, board, accrued)
        changes: dict[str, Any] = {"value": -told.value, "depth": (told.depth or 8) + 1}
        return replace(told, **{field: changes[field]}) if where(board) else told

    monkeypatch.setattr(Tablebase, "probe", probe)
