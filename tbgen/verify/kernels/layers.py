"""One layer at a time: the keys of all positions of a window for one accrued score."""

import numpy as np

from tbgen.accelerate import kernel
from tbgen.index.table import FRESH
from tbgen.score import NONE
from tbgen.verify.kernels.best import canonical_slot_of
from tbgen.verify.kernels.bitboards import ONE, ZERO
from tbgen.verify.kernels.findings import BETWEEN, note
from tbgen.verify.kernels.keys import MIDDLE, code_rank, inherits, key_of, worth_of
from tbgen.verify.kernels.moves import place
from tbgen.verify.kernels.runs import last_run, next_slot


@kernel
def begin(game, start, stop, scratch, images, originals):
    """Set the keys of window slots ``start..stop``, canonical or not, for a score that outranks all values.

    ``images`` receives the slots that are not canonical, of positions whose value is no mate or stalemate,
    and ``originals`` their canonical slots: both int32 with room for all slots, as flat indices into
    ``Game.key``. Return their number.
    """
    window = game.key.shape[1]
    count = 0
    for index in range(start, stop):
        slot = original = game.base + index
        if game.value[0, slot] == NONE and game.value[1, slot] == NONE:
            if place(game.men, slot, scratch.squares) == ZERO:
                continue
            original = canonical_slot_of(game, scratch)
        for side in range(2):
            code = np.int64(game.value[side, original])
            if code == NONE:
                continue
            game.key[side, index] = key_of(code, np.int64(game.depth[side, original]), MIDDLE)
            if original != slot and code_rank(code) > 1:
                images[count] = side * window + index
                originals[count] = side * window + original - game.base
                count += 1
    return count


@kernel
def enter_layer(game, rank, step, level, side, start, stop, runs, entry):
    """Set the keys of a side's canonical positions among window slots ``start..stop`` for an accrued score.

    The score is worth ``level`` and its rank is ``step``; ``rank`` is uint8 (2, size). ``runs`` are those of
    the score's holder and that side, and ``entry`` is the first one here. Positions whose value has a smaller
    rank keep the key that :func:`begin` gave them, or get it back.
    """
    for index in range(start, stop):
        slot = game.base + index
        first = entry
        if runs.mask[slot >> 6] >> np.uint64(slot & 63) & ONE:
            entry = next_slot(runs, entry)
        code = np.int64(game.value[side, slot])
        if code == NONE or code_rank(code) < step - 1:
            continue
        key = key_of(code, np.int64(game.depth[side, slot]), level if code_rank(code) >= step else MIDDLE)
        if inherits(np.int64(rank[side, slot]), code, step, level, side):
            run = last_run(runs, first, entry, step)
            if run < 0 or runs.value[run] == NONE:
                key = level << 16
            elif runs.value[run] != FRESH:
                key = key_of(np.int64(runs.value[run]), np.int64(runs.depth[run]), level)
        game.key[side, index] = key


@kernel
def enter_claims(game, rank, step, level, side, start, stop, value, depth, scratch, found):
    """The same where the table has no runs and the layer is given: ``value`` uint8 (2, window) codes and
    ``depth`` uint16 plies.

    Values outside the range from the accrued score to the fresh value are noted in ``found``. Return the
    number of states and of findings.
    """
    states = findings = 0
    for index in range(start, stop):
        slot = game.base + index
        code = np.int64(game.value[side, slot])
        if code == NONE or code_rank(code) < step - 1:
            continue
        key = key_of(code, np.int64(game.depth[side, slot]), level if code_rank(code) >= step else MIDDLE)
        if inherits(np.int64(rank[side, slot]), code, step, level, side):
            states += 1
            claim = np.int64(value[side, index])
            key = key_of(claim, np.int64(depth[side, index]), level)
            worth, fresh = worth_of(claim), worth_of(code)
            if claim == NONE or worth < min(level, fresh) or worth > max(level, fresh):
                note(found, findings, BETWEEN, False, side, slot, level, key, 0)
                findings += 1
        game.key[side, index] = key
    return states, findings


@kernel
def copy_images(game, step, images, originals, count):
    """Give the first ``count`` slots that are not canonical (see :func:`begin`) the keys of those that are.

    ``step`` is the rank of the layer. Positions whose value has a smaller rank get theirs for the last time
    and are dropped from both arrays; return the number of those left.
    """
    window = game.key.shape[1]
    left = 0
    for number in range(count):
        side = 1 if originals[number] >= window else 0
        original = originals[number] - side * window
        game.key[side, images[number] - side * window] = game.key[side, original]
        if code_rank(np.int64(game.value[side, game.base + original])) >= step:
            images[left], originals[left] = images[number], originals[number]
            left += 1
    return left
