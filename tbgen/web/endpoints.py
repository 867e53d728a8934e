"""The endpoints that answer with documents.

Whatever stands in :data:`ENDPOINTS` is served by :mod:`tbgen.web.app` and described by
:mod:`tbgen.web.openapi`. What an endpoint is asked, and what it answers, is what its function takes and
returns.
"""

from collections.abc import Callable
from functools import cached_property, partial
from types import NoneType
from typing import Any, Final, NamedTuple, get_args, get_type_hints

from tbgen.board.variant import Variant
from tbgen.documents import Document
from tbgen.probe.views import View
from tbgen.web import lookups, playing
from tbgen.web.documents import BatchRequest
from tbgen.web.exchange import ASKED_AGAIN, KEPT, NOT_KEPT, Parameter


class Body(NamedTuple):
    """What is posted."""

    media_type: str
    type: Any
    """As which msgspec describes it."""


class Endpoint:
    """An address with its answer.

    :param find: makes the answer; it takes the stocks of the variants, and then either texts, which are
        parameters of the request by their names, or the body as ``body``.
    :param variants: those whose tables it takes.
    :param body: None if it is asked by GET.
    :param quick: whether it takes so little time that it shall not wait for what takes longer.
    :param caching: what ``Cache-Control`` says.
    :param missing: whether tables may not say the answer.
    """

    def __init__(
        self,
        path: str,
        summary: str,
        find: Callable[..., Document],
        *variants: Variant,
        body: Body | None = None,
        quick: bool = False,
        caching: str = KEPT,
        missing: bool = True,
    ) -> None:
        self.path, self.summary, self.find, self.variants = path, summary, find, variants
        self.body, self.quick, self.caching, self.missing = body, quick, caching, missing
        self.method = "GET" if body is None else "POST"

    @cached_property
    def _hints(self) -> dict[str, Any]:
        function = self.find.func if isinstance(self.find, partial) else self.find
        return get_type_hints(function, include_extras=True)

    @property
    def answer(self) -> type[Document]:
        """The document that it answers."""
        found: type[Document] = self._hints["return"]
        return found

    @property
    def parameters(self) -> list[Parameter]:
        """What it is asked by."""
        return [
            _parameter(name, hint, self.path) for name, hint in self._hints.items() if name not in _NOT_ASKED
        ]


def _parameter(name: str, hint: Any, path: str) -> Parameter:
    """Return the parameter that a function takes; one that may be None need not be given."""
    possible = get_args(hint)
    optional = NoneType in possible
    return Parameter(name, possible[0] if optional else hint, not optional, f"{{{name}}}" in path)


_NOT_ASKED: Final = frozenset({"stock", "stocks", "view", "body", "return"})
_VIEWS: Final = {
    View.CLASSICAL: "classical chess without the 50-move rule",
    View.STALEMATE_WINS: "chess in which stalemate wins",
    View.LASKER: "chess in which stalemating gets 3/4 of the point",
}
_BATCH: Final = Body("application/json", BatchRequest)
_PGN: Final = Body("application/x-chess-pgn", str)


def _of_variant(rules: Variant) -> list[Endpoint]:
    return [
        Endpoint(f"/{rules}", f"A position in {rules.label}", lookups.position, rules, quick=True),
        Endpoint(
            f"/{rules}/moves",
            f"The legal moves of any position in {rules.label}",
            playing.legal_moves,
            rules,
            quick=True,
            missing=False,
        ),
        Endpoint(f"/{rules}/mainline", f"Best play in {rules.label}", lookups.line, rules),
        Endpoint(
            f"/{rules}/accrued",
            f"A position in {rules.label} with every accrued score",
            lookups.accrued_scores,
            rules,
        ),
        Endpoint(
            f"/{rules}/sample",
            f"A random position of a table for {rules.label}",
            lookups.sample,
            rules,
            caching=NOT_KEPT,
        ),
        Endpoint(
            f"/{rules}/stats/{{material}}",
            f"What a table for {rules.label} holds",
            lookups.statistics,
            rules,
            caching=ASKED_AGAIN,
        ),
        Endpoint(
            f"/{rules}/batch",
            f"Many positions in {rules.label}",
            lookups.batch,
            rules,
            body=_BATCH,
            caching=NOT_KEPT,
        ),
        Endpoint(
            f"/{rules}/game",
            f"A game, refereed by {rules.label}",
            playing.game,
            rules,
            body=_PGN,
            caching=NOT_KEPT,
        ),
    ]


def _of_view(view: View) -> Endpoint:
    find = partial(lookups.view_position, view)
    return Endpoint(f"/{view}", f"A position in {_VIEWS[view]}", find, Variant.R_MOBILITY, quick=True)


ENDPOINTS: Final = (
    *(endpoint for variant in Variant for endpoint in _of_variant(variant)),
    *map(_of_view, View),
    Endpoint(
        "/tables",
        "The tables of the server",
        lookups.tables,
        *Variant,
        caching=ASKED_AGAIN,
        missing=False,
    ),
)
"""All of them."""

STATE: Final = ENDPOINTS[0].parameters
"""A position, maybe with an accrued score."""
