"""The endpoints that answer with documents.

Whatever stands in :data:`ENDPOINTS` is served by :mod:`tbgen.web.app` and described by
:mod:`tbgen.web.openapi`. What an endpoint is asked, and what it answers, is what its function takes and
returns.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import NoneType
from typing import Any, Final, NamedTuple, get_args, get_type_hints

from tbgen.board.variant import Variant
from tbgen.documents import Document
from tbgen.probe.views import View
from tbgen.web import lookups
from tbgen.web.documents import BatchRequest
from tbgen.web.exchange import ASKED_AGAIN, KEPT, NOT_KEPT, Parameter
from tbgen.web.games import game, games
from tbgen.web.playing import legal_moves
from tbgen.web.puzzles import challenge, puzzle
from tbgen.web.settings import MOST_BODY_BYTES, MOST_GAMES_BYTES


class Body(NamedTuple):
    """What is posted."""

    media_type: str
    type: Any
    """As which msgspec describes it."""
    most: int = MOST_BODY_BYTES


@dataclass(frozen=True)
class Endpoint:
    """An address with its answer."""

    path: str
    summary: str
    find: Callable[..., Document]
    """Makes the answer; it takes the stocks of the variants, and then either texts, which are parameters of
    the request by their names, or the body as ``body``."""
    variants: tuple[Variant, ...] = tuple(Variant)
    """Those whose tables it takes."""
    body: Body | None = None
    """None if it is asked by GET."""
    quick: bool = False
    """Whether it takes so little time that it shall not wait for what takes longer."""
    queued: bool = False
    """Whether a client may wait for few answers at a time, since each takes long."""
    caching: str = KEPT
    """The header ``Cache-Control``."""
    missing: bool = True
    """Whether tables may not say the answer."""

    @property
    def method(self) -> str:
        """The method by which it is asked."""
        return "GET" if self.body is None else "POST"

    @cached_property
    def _hints(self) -> dict[str, Any]:
        function = self.find.func if isinstance(self.find, partial) else self.find
        return get_type_hints(function, include_extras=True)

    @property
    def answer(self) -> type[Document]:
        """The type of the document that it answers."""
        found: type[Document] = self._hints["return"]
        return found

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters of its requests; one that may be None need not be given."""
        return [
            Parameter(name, *_type_of(hint), in_path=f"{{{name}}}" in self.path)
            for name, hint in self._hints.items()
            if name not in _NO_PARAMETERS
        ]


_NO_PARAMETERS: Final = frozenset({"stock", "stocks", "view", "body", "return"})


def _type_of(hint: Any) -> tuple[Any, bool]:
    """Return the type of a parameter, and whether it is required."""
    possible = get_args(hint)
    return (possible[0], False) if NoneType in possible else (hint, True)


_VIEWS: Final = {
    View.CLASSICAL: "classical chess without the 50-move rule",
    View.STALEMATE_WINS: "chess in which stalemate wins",
    View.LASKER: "chess in which stalemating gets 3/4 of the point",
}
_BATCH: Final = Body("application/json", BatchRequest)
_PGN: Final = Body("application/x-chess-pgn", str)
_PGN_OF_MANY: Final = Body("application/x-chess-pgn", str, MOST_GAMES_BYTES)
_OF_VARIANT: Final = (
    Endpoint("/{}", "A position in {}", lookups.position, quick=True),
    Endpoint("/{}/moves", "The legal moves of any position in {}", legal_moves, quick=True, missing=False),
    Endpoint("/{}/mainline", "Best play in {}", lookups.line),
    Endpoint("/{}/accrued", "A position in {} with every accrued score", lookups.accrued_scores),
    Endpoint("/{}/sample", "A random position of a table for {}", lookups.sample, caching=NOT_KEPT),
    Endpoint(
        "/{}/puzzle", "A puzzle in {}: only one move keeps the value", puzzle, queued=True, caching=NOT_KEPT
    ),
    Endpoint("/{}/challenge", "A random position to play in {}", challenge, caching=NOT_KEPT),
    Endpoint("/{}/stats/{{material}}", "What a table for {} holds", lookups.statistics, caching=ASKED_AGAIN),
    Endpoint("/{}/batch", "Many positions in {}", lookups.batch, body=_BATCH, caching=NOT_KEPT),
    Endpoint("/{}/game", "A game, refereed by {}", game, body=_PGN, caching=NOT_KEPT),
    Endpoint("/{}/games", "Results of many games by {}", games, body=_PGN_OF_MANY, caching=NOT_KEPT),
)
"""Those that every variant has, with a place for its name."""


def _of_variant(endpoint: Endpoint, rules: Variant) -> Endpoint:
    path, summary = endpoint.path.format(rules), endpoint.summary.format(rules.label)
    return replace(endpoint, path=path, summary=summary, variants=(rules,))


def _of_view(view: View) -> Endpoint:
    find = partial(lookups.view_position, view)
    return Endpoint(f"/{view}", f"A position in {_VIEWS[view]}", find, (Variant.R_MOBILITY,), quick=True)


ENDPOINTS: Final = (
    *(_of_variant(endpoint, rules) for rules in Variant for endpoint in _OF_VARIANT),
    *map(_of_view, View),
    Endpoint("/tables", "The tables of the server", lookups.tables, caching=ASKED_AGAIN, missing=False),
)
"""All of them."""

STATE: Final = ENDPOINTS[0].parameters
"""A position, maybe with an accrued score."""
