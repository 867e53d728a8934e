"""A reporter that remembers what it is told."""

from tbgen.board.material import Material


class Narrator:
    """Writes down materials as ``KvK 1/3``, and steps as ``KvK (1 of 3): r, counted 50%``."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.steps: list[str] = []
        self.left: list[float] = []

    def note(self, text: str) -> None:
        raise AssertionError(text)

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        self.begun.append(f"{material} {number}/{count}")
        self.left.append(seconds_left)

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        assert seconds_left is not None
        self.left.append(seconds_left)
        self.steps.append(step if done is None else f"{step} {done / total:.0%}")
