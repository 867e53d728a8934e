"""``tbgen serve``: as a process of its own, or in a thread of this one."""

import logging
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from uvicorn import Config, Server

from tbgen.web.app import make_app
from tbgen.web.configuration import Settings
from tbgen.web.connections import Connection, max_connections
from tbgen.web.server import address_of, open_listener
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


@contextmanager
def served(*directories: Path, **settings: Any) -> Iterator[str]:
    """The address of a server in a thread, by default without a limit for its clients."""
    config = Config(
        make_app(Settings(directories, **{"limit": 0, **settings})),
        loop="asyncio",
        http=Connection,
        ws="none",
        log_config=None,
        log_level=logging.WARNING,
        limit_concurrency=max_connections(),
    )
    server = Server(config)
    with open_listener("127.0.0.1", 0) as listener:
        thread = Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield address_of(listener)
        except BaseException:
            server.force_exit = True  # pages that a test has left open would keep it
            raise
        finally:
            server.should_exit = True
            thread.join()
