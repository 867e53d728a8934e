// How many puzzles have been solved: kept in this browser only, if it keeps anything.

const NAME = "tbgen-puzzles-solved"

export function counted() {
    try {
        return Number(localStorage.getItem(NAME)) || 0
    } catch {
        return 0
    }
}

/** Count one more. */
export function count() {
    try {
        localStorage.setItem(NAME, counted() + 1)
    } catch {
        // A browser that keeps nothing counts nothing.
    }
}
