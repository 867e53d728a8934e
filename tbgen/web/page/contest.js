// A game of a visitor against the page: its plies, and what they say of it. Nothing here asks or shows anything.

import {markOf} from "./mistakes.js"
import {height, moverOf, rankOf, sideOf} from "./score.js"

/**
 * Return a ply: the position with its `answer`, and the move that led to it; null for the first.
 *
 * It has `fen`, `accrued`, and `value` (null where no table says it), and `uci`, `san` and `zeroing` of the move.
 */
export const plyOf = (answer, move = null) => ({
    fen: answer.fen, accrued: answer.accrued, value: answer.value, answer,
    uci: move?.uci ?? null, san: move?.san ?? null, zeroing: move?.zeroing ?? false,
})

export const isOver = ({answer}) => answer.checkmate || answer.stalemate

/** Return the score that each side has got since the last reset, by its name, null for none: the better one counts. */
export function held(plies) {
    const [{accrued}] = plies
    let best = {White: null, Black: null, [sideOf(accrued)]: accrued}
    for (const {zeroing, answer: {position_score: own}} of plies) {
        if (zeroing) best = {White: null, Black: null}
        const before = best[sideOf(own)]
        if (before === null || rankOf(own) < rankOf(before)) best[sideOf(own)] = own
    }
    return best
}

/** Whether one score is worse than another one for a side. */
const isWorse = (score, than, side) => side === "White" ? height(score) < height(than) : height(score) > height(than)

/** Whether a side that plays best takes what has accrued as the result: it gets nothing better. */
export const accepts = ({accrued, value}, side) => value !== null && !isWorse(accrued, value, side)

/** Whether best play leaves it at what has accrued. */
export const isSettled = ({accrued, value}) => accrued === value

/**
 * Return what each ply of a game has kept or lost: its number `at`, `san`, the `mover`, what he `had` before it and
 * `got` by it with best play (null where no table says it), the `best` move, and a `mark`: "?" for a loss, "??" if the
 * score goes to the opponent.
 */
export function reviewed(plies) {
    return plies.slice(1).map(({san, value: got, answer}, index) => {
        const {fen, value: had, answer: {moves: [best]}} = plies[index]
        const mover = moverOf(fen)
        const mark = markOf({value: had}, {value: got})
        return {at: index + 1, san, mover, had, got, best: best.san, mark, left: answer.position_score, accrued: answer.accrued}
    })
}

/** Whether the last position has occurred three times where no table says what to do: what has accrued stays then. */
export function isRepeated(plies) {
    const keyOf = ({fen}) => fen.split(" ").slice(0, 4).join(" ")
    const here = plies.at(-1)
    return here.value === null && plies.filter(ply => keyOf(ply) === keyOf(here)).length >= 3
}

/** Return what a game has come to: the accrued score, unless somebody has resigned. */
export const resultOf = (plies, ended, side) => ended === "resigned" ? (side === "White" ? "-G0.0" : "G0.0") : plies.at(-1).accrued

/** Return what a side gives away by ending a game: what it `had` and what it `got`; null if nothing that a table knows. */
export function givenAway(plies, ended, side) {
    const [had, got] = [plies.at(-1).value, resultOf(plies, ended, side)]
    return had !== null && isWorse(got, had, side) ? {had, got} : null
}

/** Return how many plies have to be taken back so that a side is to move again, 0 if it has made no move. */
export function takenBack(plies, side) {
    const before = plies.slice(0, -1).findLastIndex(({fen}) => moverOf(fen) === side)
    return before < 0 ? 0 : plies.length - 1 - before
}

