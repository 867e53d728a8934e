"""Memory of builds: what the process holds, and what it keeps from table to table or gives back.

Large arrays have memory of their own, which goes back to the system with them. What else a table has left is
in pieces, and the next one may fit into none of them. So whatever is free is given back before a table that
might else take more than it may; where ``--memory`` allows for both, it stays.
"""

import resource
from collections.abc import Sequence

from tbgen.generator.estimate import Estimate, check_memory, together
from tbgen.machine import free_memory, give_back, held


def make_room(needs: Sequence[Estimate], cap: int | None = None) -> None:
    """Give memory back if the process might else take more than the next tables need, or than ``cap`` bytes.

    :raises TbgenError: if it would all the same, and takes more than ``cap`` or than the machine has.
    """
    allowed = max(table.memory for table in needs) if cap is None else cap
    if any(table.beside(held()) > allowed for table in needs):
        give_back()
    check_memory(needs, cap, held())


def has_room(need: Estimate, at_work: Sequence[Estimate], foreseen: int, cap: int | None = None) -> bool:
    """Whether a table may begin beside those at work, without the process taking more than ``cap`` bytes, or
    than the machine has free.

    :param foreseen: bytes that the build was said to take: without ``cap`` none beyond them are kept.
    """
    allowed = available() if cap is None else cap

    def taken() -> int:
        return together([*at_work, need]) + max(0, held() - together(at_work))

    if taken() > (min(foreseen, allowed) if cap is None else cap):
        give_back()
    return taken() <= allowed


def available() -> int:
    """Return the bytes that the process may take, those that it holds among them, before the machine runs
    short: a tenth of what is free stays so. Where the system does not say, of all it has."""
    return held() + free_memory() // 10 * 9


def process_peak() -> int:
    """Return the most memory in bytes that the process has held since it began."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
