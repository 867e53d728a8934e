#!/usr/bin/env python3
"""Record the output of all commands and the answers of the HTTP API in ``tests/data/printed``.

    .venv/bin/python scripts/printed.py [NAME...]            # record anew, then review the diff
    .venv/bin/python scripts/printed.py --check [NAME...]    # compare; the exit code is 1 if a file differs

A file of ``tests/data/printed`` has the commands of one subcommand, or the requests to the API, each with the
output. :data:`MASKS` replaces what differs between runs or machines.
"""

import argparse
import difflib
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from starlette.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parents[1]))

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.cli.main import main as run_command
from tbgen.compiler import cache
from tbgen.generator import build
from tbgen.store.format import table_path
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings
from tests.support.builds import Silent, few_whole_game_materials
from tests.support.paths import DATA, ROOT, rows
from tests.web.test_openapi import POSTED

PRINTED = DATA / "printed"

MASKS = {
    r" *\b\d+(\.\d+)? ?(s|ms|min|h)\b( \d+ s\b)?": " TIME",
    r'("(?:\w*seconds|started|finished|made|created|updated|time)": )[^\n]+?(,?)$': r"\1TIME\2",
    r'("stages": )\{[^}]*\}': r"\1STAGES",
    r"\b(nps|time) \d+(?= (?:tbhits|pv))": r"\1 NUMBER",
    r"\d+ threads": "N threads",
    r'("threads": )\d+': r"\1N",
    r'("sha256": )"\w+"': r'\1"SHA256"',
    r'("(?:layer_)?bytes": )\d+': r"\1BYTES",
    r'("\w*(?:memory|peak|free)\w*": )\d+': r"\1BYTES",
    r" *\b\d+(\.\d+)? (KiB|MiB|GiB|TiB)\b": " SIZE",
    r"\btbgen(/| )\d+\.\d+\.\d+": r"tbgen\1VERSION",
    r'("(?:version|tbgen_version|generator)": )"[^"]*"': r'\1"VERSION"',
    r"(<g id=|clip-path=|xlink:href=).*?>": r"\1ID>",
    r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00|Z)?": "DATE",
}
"""Patterns of text that depends on time, the machine or the version, with their replacements."""
RANDOM = re.compile(r"/(sample|challenge)\b|/puzzle(?!.*day=2)")
"""Requests whose answers are drawn by chance; only their keys are recorded."""


def masked(text: str) -> str:
    """Return a text in which :data:`MASKS` are replaced."""
    for pattern, replacement in MASKS.items():
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text.replace(str(ROOT), "ROOT").replace(os.getcwd(), "HERE")


def command_sections(name: str = "printed/commands.list") -> dict[str, list[str]]:
    """Return the commands of a list in ``tests/data``, by the name of their file."""
    sections: dict[str, list[str]] = {}
    for (line,) in rows(name, "\n"):
        if line.startswith("["):
            lines = sections.setdefault(line.strip("[]"), [])
        elif line:
            lines.append(line)
    return sections


@contextmanager
def place(tables: Path) -> Iterator[None]:
    """Make a temporary working directory with the tables as ``data``, and the docs and test data."""
    before = os.getcwd()
    with TemporaryDirectory() as directory:
        for name, target in (("data", tables), ("docs", ROOT / "docs"), ("tests", ROOT / "tests")):
            Path(directory, name).symlink_to(target)
        os.chdir(directory)
        try:
            yield
        finally:
            os.chdir(before)


def run(line: str) -> str:
    """Run a command of the list, and return it with its output, errors and exit code.

    ``< FILE`` or ``<<< TEXT`` at the end of the line is standard input.
    """
    words, _, here = line.partition(" <<< ")
    words, _, file = words.partition(" < ")
    sent = Path(file).read_bytes() if file else (here.replace("\\n", "\n") + "\n").encode()
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", "\n") for _ in range(2)]
    with (
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(sent), "utf-8", "backslashreplace")),
        patch.object(sys, "stdout", streams[0]),
        patch.object(sys, "stderr", streams[1]),
        patch.dict(os.environ, {"COLUMNS": "100"}),
    ):
        code = run_command(shlex.split(words))
    for stream in streams:
        stream.flush()
    output, errors = (stream.buffer.getvalue().decode() for stream in streams)
    lines = (
        message
        for message in errors.splitlines()
        if not re.search(r"compiling| left$|cells solved$", message)
    )
    errors = "".join(f"! {message}\n" for message in lines)
    exit_line = f"? {code}\n" if code else ""
    return f"$ tbgen {line}\n{masked(output)}{masked(errors)}{exit_line}\n"


def shape(answer: Any) -> Any:
    """Return an answer with only its keys."""
    if isinstance(answer, dict):
        return {key: shape(value) for key, value in answer.items()}
    return type(answer).__name__


def answered(client: TestClient, method: str, path: str, body: str | None = None) -> str:
    """Send a request to the API, and return it with status, headers and answer."""
    answer = client.request(method, path, content=body, follow_redirects=False)
    headers = [
        f"{name}: {answer.headers[name]}"
        for name in ("content-type", "cache-control")
        if name in answer.headers
    ]
    text = answer.text
    if "json" in answer.headers.get("content-type", ""):
        document = answer.json()
        text = json.dumps(shape(document) if RANDOM.search(path) else document, indent=1, ensure_ascii=False)
    sent = f"{body}\n" if body else ""
    return f"> {method} {path}\n{sent}{answer.status_code} {', '.join(headers)}\n{masked(text)}\n\n"


def requests() -> Iterator[tuple[str, str, str | None]]:
    """Yield method, path and body of all requests to record."""
    for (path,) in rows("requests.txt", " -> "):
        yield "GET", path, None
    for _, path, *_ in rows("refused_requests.txt", " -> "):
        yield "GET", path, None
    for path, body in POSTED.items():
        yield "POST", path, body


def recorded(name: str, tables: Path) -> str:
    """Return the text of a file of ``tests/data/printed``, made anew.

    :param tables: directory with the :func:`recorded_tables` and maybe others, which are not used.
    """
    with TemporaryDirectory() as directory, place(used := Path(directory)):
        for variant, materials in recorded_tables().items():
            for path in (table_path(tables, material.name, variant) for material in materials):
                (used / path.name).symlink_to(path)
        if name != "requests":
            return "".join(map(run, command_sections()[name]))
        with TestClient(make_app(Settings((used,), limit=0)), raise_server_exceptions=False) as client:
            return "".join(answered(client, *request) for request in requests())


def recorded_tables() -> dict[Variant, list[Material]]:
    """Return the materials of the tables that records need, by variant."""
    return {Variant.R_MOBILITY: all_materials(4), Variant.WHOLE_GAME: few_whole_game_materials()}


def names() -> list[str]:
    """Return the names of all files of ``tests/data/printed``."""
    return [*command_sections(), "requests"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("names", nargs="*", metavar="NAME", help="names of files (default: all)")
    arguments = parser.parse_args()
    tables = cache.shared_directory().parent / "tables-of-tests" / cache.folder_name("tbgen.generator.runner")
    for variant, materials in recorded_tables().items():
        build(materials, tables, Silent(), variant=variant)
    differing = 0
    for name in arguments.names or names():
        path = PRINTED / f"{name}.txt"
        text = recorded(name, tables)
        before = path.read_text() if path.exists() else ""
        if arguments.check:
            lines = difflib.unified_diff(before.splitlines(True), text.splitlines(True), str(path), "now")
            sys.stdout.writelines(lines)
        else:
            path.write_text(text)
        differing += text != before
    return int(arguments.check and differing > 0)


if __name__ == "__main__":
    sys.exit(main())
