"""Entry point of ``python -m tbgen``."""

from tbgen.cli import entry_point

entry_point()
