"""An event of engines while it is played: the runner tells a process of its own, and that shows it.

A process, so that nobody who looks on can slow the runner down, in which clocks run: what is shown there
costs the runner a few words into a pipe, and it ends with the runner, whatever becomes of that.
"""

from tbgen.live.broadcast import Broadcast

__all__ = ["Broadcast"]
