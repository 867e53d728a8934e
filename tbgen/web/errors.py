"""What is wrong with a request, or why it has no answer: a status of HTTP, a code and a sentence."""

import logging
from collections.abc import Mapping

from starlette.exceptions import HTTPException

from tbgen.compiler.cache import KernelsMissingError
from tbgen.errors import MissingLayerError, MissingTableError, TbgenError, UsageError
from tbgen.probe.documents import RefusalDocument
from tbgen.web.settings import DOCUMENT_PATH

_logger = logging.getLogger(__name__)


class Refusal(Exception):  # noqa: N818 - most are no errors of anybody
    """A request that gets no answer but a sentence.

    :param status: of HTTP.
    :param code: what it is, for programs.
    :param sentence: what it is and what to do, for people; it names no file of the server.
    :param headers: more headers of the answer.
    """

    def __init__(
        self, status: int, code: str, sentence: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})

    def document(self) -> RefusalDocument:
        """Return what JSON answers say."""
        return RefusalDocument(self.code, str(self))


def refusal_of(error: Exception) -> Refusal:
    """Return the answer to a client about an error; what only concerns the operator goes into the log.

    Errors that are not expected are logged by the server that runs the application.
    """
    match error:
        case Refusal():
            return error
        case MissingTableError():
            plain = MissingTableError(error.material, rules=error.rules)  # without the directories
            return Refusal(404, error.code, str(plain))
        case MissingLayerError():
            sentence = "the table here does not store the depths of accrued scores that this takes"
            return Refusal(404, error.code, sentence)
        case UsageError():
            return Refusal(400, error.code, str(error))
        case TbgenError():
            _logger.error("%s", error)
            return Refusal(500, error.code, "a table cannot be used; the log of the server says why")
        case KernelsMissingError():
            return Refusal(503, "compiling", f"{error}; ask again then", {"Retry-After": "10"})
        case HTTPException(status_code=405):
            sentence = f"nothing here is asked for by this method; {DOCUMENT_PATH} says what is"
            return Refusal(405, "method_not_allowed", sentence, error.headers)
        case HTTPException():
            sentence = f"there is nothing here; {DOCUMENT_PATH} says what there is"
            return Refusal(error.status_code, "not_found", sentence)
    return Refusal(500, "fault", "the server has made a mistake; its log says which")
