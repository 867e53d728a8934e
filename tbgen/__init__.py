"""Endgame tablebases of reset-mobility (r-mobility) chess: build, probe and prove them.

>>> import tbgen
>>> print(tbgen.GScore.parse("mG5.5"))
-G5.5
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tbgen.errors import DamagedTableError, MissingTableError, TbgenError, UsageError
    from tbgen.material import Material
    from tbgen.probe.states import ProbeResult
    from tbgen.probe.tablebase import Tablebase, open_tablebase
    from tbgen.score import GScore
    from tbgen.scoring import Points, points

    __version__: str

__all__ = [
    "DamagedTableError",
    "GScore",
    "Material",
    "MissingTableError",
    "Points",
    "ProbeResult",
    "Tablebase",
    "TbgenError",
    "UsageError",
    "__version__",
    "open_tablebase",
    "points",
]

_HOME = {
    "DamagedTableError": "tbgen.errors",
    "GScore": "tbgen.score",
    "Material": "tbgen.material",
    "MissingTableError": "tbgen.errors",
    "Points": "tbgen.scoring",
    "ProbeResult": "tbgen.probe.states",
    "Tablebase": "tbgen.probe.tablebase",
    "TbgenError": "tbgen.errors",
    "UsageError": "tbgen.errors",
    "open_tablebase": "tbgen.probe.tablebase",
    "points": "tbgen.scoring",
}


def __getattr__(name: str) -> Any:
    # Nothing is imported before it is used: `tbgen --help` needs neither numpy nor h5py.
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("tbgen")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'tbgen' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
