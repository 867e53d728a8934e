"""The base of classes whose objects never change; msgspec writes and reads them as text."""

from typing import Any, Final, NoReturn, Self

set_attribute: Final = object.__setattr__
"""Sets an attribute of an :class:`Immutable`, in its ``__init__``."""


class Immutable:
    """A base class whose attributes, named in ``__match_args__``, are the arguments of the class."""

    __slots__ = ()
    __match_args__: tuple[str, ...]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name} cannot be set: a {type(self).__name__} never changes")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name} cannot be deleted: a {type(self).__name__} never changes")

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), tuple(getattr(self, name) for name in self.__match_args__)

    def __repr__(self) -> str:
        attributes = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({attributes})"
