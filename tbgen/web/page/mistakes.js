// Moves that give away something: tables know it.

import {isWhite} from "./score.js"

/** Return the mark of a move between two positions: "??" where it gives away who is ahead, "?" where only how far. */
export function markOf(before, after) {
    if (!before?.value || !after.value || before.value === after.value) return ""
    return isWhite(before.value) === isWhite(after.value) ? "?" : "??"
}
