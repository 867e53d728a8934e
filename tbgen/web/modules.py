"""The modules of the pages' scripts, so that a browser asks for all of a page at once."""

import re
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath
from typing import Final

_SCRIPT: Final = re.compile(rb'<script type="module" src="page/([^"]+)"></script>\n')
_IMPORT: Final = re.compile(rb'\b(?:from|import) ?\(?"(\.[^"]+)"')


def with_modules(page: bytes, files: Mapping[str, bytes]) -> bytes:
    """Return a page that names the modules that its script imports, and those that these import, as far as
    they are there: some are for pages with a server, or without one.

    :param files: the contents of all files by their names.

    >>> files = {"a.js": b'import "./b/c.js"', "b/c.js": b'import {d} from "../d.js"', "d.js": b""}
    >>> page = with_modules(b'<script type="module" src="page/a.js"></script>\\n', files)
    >>> re.findall(rb'href="([^"]+)"', page)
    [b'page/b/c.js', b'page/d.js']
    """
    script = _SCRIPT.search(page)
    if script is None:
        return page
    first = script[1].decode()
    found = [first]
    for name in found:  # grows
        found += dict.fromkeys(
            each for each in _imported(name, files[name]) if each in files and each not in found
        )
    links = "".join(
        f'<link rel="modulepreload" href="page/{name}" fetchpriority="low">\n' for name in found[1:]
    )
    return page[: script.start()] + links.encode() + page[script.start() :]


def _imported(name: str, content: bytes) -> Iterator[str]:
    """Yield the names of the modules that a module imports."""
    for match in _IMPORT.finditer(content):
        yield normpath(join(dirname(name), match[1].decode()))
