#!/usr/bin/env python3
"""Renew the generated blocks of README.md, CONTRIBUTING.md and the pages in docs.

    scripts/renew_pages.py            # renews all blocks; the next commit contains the pages
    scripts/renew_pages.py --check    # changes nothing; the exit code is 1 if a block is out of date

A block of a page lies between two comments::

    <!-- made by architecture.floors -->
    ...
    <!-- end -->

The first comment names a function in ``scripts/page_blocks``, here ``floors`` of ``architecture.py``; further
words are arguments of the function. The function returns the text between the comments.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

from tbgen.errors import TbgenError
from tbgen.system.files import write_file

ROOT: Final = Path(__file__).resolve().parent.parent
_BLOCK: Final = re.compile(r"^<!-- made by ([^\n]+) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
_MARK: Final = re.compile(r"^<!-- (?:made by .+|end) -->$", re.MULTILINE)


def hand_written_pages() -> Iterator[Path]:
    """Yield the pages that may have generated blocks."""
    yield ROOT / "README.md"
    yield ROOT / "CONTRIBUTING.md"
    yield from sorted((ROOT / "docs").glob("*.md"))


def renewed(text: str) -> str:
    """Return a page with all of its blocks made anew.

    :raises ValueError: if a mark is not part of a pair, or names no function.
    """
    if len(_MARK.findall(text)) != 2 * len(_BLOCK.findall(text)) or _MARK.search(without_blocks(text)):
        raise ValueError(
            "a mark has no partner: a block is between '<!-- made by ... -->' and '<!-- end -->'"
        )
    return _BLOCK.sub(lambda block: f"<!-- made by {block[1]} -->\n\n{_made(block[1])}\n\n<!-- end -->", text)


def _made(words: str) -> str:
    name, *arguments = words.split()
    module, _, function = name.partition(".")
    try:
        make = getattr(import_module(f"page_blocks.{module}"), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"scripts/page_blocks has no function {name}: {error}") from error
    text: str = make(*arguments)
    return text


def without_blocks(text: str) -> str:
    """Return the hand-written part of a page."""
    return _BLOCK.sub("", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    changed = []
    for path in hand_written_pages():
        text = path.read_text()
        try:
            anew = renewed(text)
            if anew != text:
                changed.append(path.relative_to(ROOT))
                if not check:
                    write_file(path, anew.encode())
        except (TbgenError, ValueError) as error:
            print(f"error: {path.relative_to(ROOT)}: {error}", file=sys.stderr)
            return 1
    for name in changed:
        print(f"{name} {'is out of date: run scripts/renew_pages.py' if check else 'is renewed'}")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
