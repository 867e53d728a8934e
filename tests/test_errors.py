"""Errors: their sentences, exit codes and the built-in errors they can be caught as."""

import pickle
from pathlib import Path

import pytest

from tbgen.errors import (
    DamagedTableError,
    GameError,
    MissingTableError,
    NoTablesError,
    TbgenError,
    UsageError,
    quote,
)
from tbgen.extras import MissingExtraError


@pytest.mark.parametrize(
    ("error", "builtin", "exit_code", "code"),
    [
        (UsageError("no"), ValueError, 2, "bad_input"),
        (MissingTableError("KBvK"), KeyError, 3, "missing_table"),
        (NoTablesError("data"), TbgenError, 3, "no_tables"),
        (DamagedTableError("no"), OSError, 1, "damaged_table"),
        (TbgenError("no"), Exception, 1, "failed"),
        (MissingExtraError("a report", "matplotlib", "report"), TbgenError, 1, "missing_extra"),
        (GameError("game 3", DamagedTableError("no")), TbgenError, 1, "damaged_table"),
        (GameError("game 3", MissingTableError("KBvK")), TbgenError, 3, "missing_table"),
    ],
)
def test_exit_codes_and_builtin_errors(error: TbgenError, builtin: type, exit_code: int, code: str) -> None:
    assert isinstance(error, TbgenError)
    assert isinstance(error, builtin)
    assert (error.exit_code, error.code) == (exit_code, code)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_missing_table_names_the_command_that_builds_it() -> None:
    assert str(MissingTableError("KBvK")) == "table KBvK is missing; build it with: tbgen build KBvK"
    assert str(MissingTableError("KBvK", Path("a dir"), "wg")) == (
        "table KBvK is missing from a dir (no such directory); "
        "build it with: tbgen build KBvK --dir 'a dir' --rules wg"
    )


def test_quotes_are_escaped_and_short() -> None:
    assert quote("G3.4") == "'G3.4'"
    assert quote("a\nb\x1b[31m") == r"'a\nb\x1b[31m'"
    assert quote("\ud800") == r"'\ud800'"
    assert len(quote("x" * 10_000_000)) == 60
