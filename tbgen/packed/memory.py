"""Answers that are kept for a while."""

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class AnswerMemory(Generic[K, V]):
    """The last answers to questions: at least ``size`` of them, and twice as many, besides what was learnt at
    once, before old ones go. Safe for threads, which may lose each other's answers.

    >>> memory = AnswerMemory(2)
    >>> for number in range(5):
    ...     memory.update({number: str(number)})
    >>> [memory.get(number) for number in range(5)]
    [None, None, '2', '3', '4']
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._new: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return the answer, None if it is not known any more."""
        found = self._new.get(key)
        return self._old.get(key) if found is None else found

    def update(self, answers: Mapping[K, V]) -> None:
        """Keep answers."""
        if len(self._new) >= self._size:
            self._old, self._new = self._new, {}
        self._new.update(answers)
