"""``tbgen serve`` as a process of its own."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.processes import started, wait_for


@contextmanager
def serving(
    directory: Path, *words: str, before: str = "", **options: Any
) -> Iterator[tuple["subprocess.Popen[str]", str, int]]:
    """The process, host and port of a server.

    :param before: what it runs before the command.
    """
    code = f"{before}\nfrom tbgen.cli import entry_point\nentry_point()"
    command = ("-c", code, "serve", "--dir", str(directory), "--port", "0", *words)
    with started(*command, **options) as running:
        said = wait_for(running, " at http://", "stderr")
        found = re.search(r"http://([\d.]+):(\d+)", said)
        assert found, said
        yield running, found[1], int(found[2])
