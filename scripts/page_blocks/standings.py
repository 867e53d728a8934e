"""Blocks of docs/scoring.md: the orders, tiebreaks and tables of standings."""

import inspect
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any

from page_blocks.docstrings import attribute_docstrings, markdown
from page_blocks.markdown import code, table
from tbgen.games.standings.orders import ORDERS
from tbgen.games.standings.tables import TABLES
from tbgen.games.standings.tiebreaks import BALANCES, TIEBREAKS, OrderBy


def orders() -> str:
    """Return a table of the orders: what counts first, the tiebreaks, and whose rules these are."""
    numbers = attribute_docstrings(OrderBy)
    rows = []
    for order in ORDERS.values():
        rules = f"[{order.rules}]({order.source})" if order.rules else "our own"
        rows.append((code([order.name]), numbers[order.order_by.name], code(order.tiebreaks), rules))
    return table(("order", "first", "tiebreaks", "rules"), rows)


def tiebreaks() -> str:
    """Return a table of the tiebreaks with their columns. Tiebreaks with the same function share a row."""
    rows = []
    for function, group in groupby(TIEBREAKS.values(), lambda tiebreak: _plain(tiebreak.number_of)):
        members = list(group)
        meaning = "; ".join(row.words.removesuffix(f" ({row.title})") for row in members)
        if text := inspect.getdoc(function):
            meaning += f": {markdown(text.partition(':param')[0]).removeprefix('Return ')}"
        rows.append((code(row.key for row in members), code(row.title for row in members), meaning))
    rows.append(("`g1.0`, `g1.5`, ...", "`G1.0 +-`, ...", "the same for any score"))
    rows.append(
        (
            code([BALANCES]),
            "up to `G2.0 +-`",
            "`stalemates`, `g1.0`, and so on through all scores that occur",
        )
    )
    return table(("name", "column", "meaning"), rows)


def tables() -> str:
    """Return a table of the tables. Those with the same function share a row."""
    rows = []
    for function, keys in groupby(TABLES, lambda key: _plain(TABLES[key])):
        text, *_ = (inspect.getdoc(function) or "").partition("\n\n")
        rows.append((code(keys), markdown(text).removeprefix("Return ")))
    return table(("name", "content"), rows)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function without the arguments that :func:`partial` has bound."""
    return function.func if isinstance(function, partial) else function
