"""Blocks about options of engines and matches."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from page_blocks.docstrings import attribute_docstrings
from page_blocks.markdown import table
from tbgen.engine.options import OPTIONS, Option, Options
from tbgen.match.event_settings import MANAGED_IN_EVENTS
from tbgen.match.foreign import IGNORED_OPTIONS, IGNORED_WORDS, REFUSED_OPTIONS, REFUSED_WORDS

_WORD: Final = r"(?:-{1,2}[a-z][\w-]*(?: [A-Z]+\b)?|[A-Za-z.]+=[^\s;,]*)"
_WORDS: Final = re.compile(rf"(?<!\S){_WORD}(?: {_WORD})*")
"""Options with their values, and words of options, in a sentence."""


def engine_options() -> str:
    """Return a table of the UCI options of the engine."""
    meanings = attribute_docstrings(Options)
    rows = []
    for name, (field, option) in OPTIONS.items():
        default = f"`{option.default}`" if option.default else ""
        rows.append((f"`{name}`", default, _values(option), meanings[field]))
    return table(("option", "default", "values", "meaning"), rows)


def _values(option: Option) -> str:
    if choices := re.findall(r" var (\S+)", option.limits_text):
        return ", ".join(f"`{choice}`" for choice in choices)
    return option.limits_text.replace(" min ", "").replace(" max ", " to ")


def options_without_effect() -> str:
    """Return a table of the options of other programs that ``tbgen match`` ignores or refuses."""
    ignored = ((f"-{name}", reason) for name, (_, reason) in IGNORED_OPTIONS.items())
    refused = ((f"-{name}", reason) for name, reason in REFUSED_OPTIONS.items())
    return _effects(ignored, refused)


def words_without_effect() -> str:
    """Return a table of the words of ``-engine`` and ``-each`` that ``tbgen match`` ignores or refuses."""
    return _effects(IGNORED_WORDS.items(), REFUSED_WORDS.items())


def _effects(ignored: Iterable[tuple[str, str]], refused: Iterable[tuple[str, str]]) -> str:
    by_effect = defaultdict[str, list[str]](list)
    for name, reason in ignored:
        by_effect[f"no effect: {_marked(reason)}"].append(f"`{name}`")
    for name, reason in refused:
        by_effect[f"refused: {_marked(reason)}"].append(f"`{name}`")
    return table(("word", "here"), [(", ".join(names), effect) for effect, names in by_effect.items()])


def managed_options() -> str:
    """Return a table of the engine options that an event sets itself."""
    rows = [(f"`{name}`", value and f"`{value}`", why) for name, (value, why) in MANAGED_IN_EVENTS.items()]
    return table(("option", "value", "here"), rows)


def _marked(sentence: str) -> str:
    """Return a sentence with its options as code."""
    return _WORDS.sub(r"`\g<0>`", sentence)
