// Games that are known: those that were followed move by move, and those that the referee has told.

import {Refused} from "./api.js"
import {referee} from "./refereeing.js"
import {variantOf} from "./state.js"

const known = new Map()

const keyOf = ({fen, accrued, rules, line, head, comments}) => JSON.stringify([fen, accrued, variantOf(rules), line, head, comments])

/** Return the first position of a state alone. */
export const beginning = ({fen, accrued}) => [{fen, san: null, after: null, accrued}]

/** Know the game of a state: its `plies`, and what the referee says of it, null if he was not asked. */
export const know = (state, game) => known.set(keyOf(state), game)

/** Return the game of a state, for which the referee is asked if need be. */
export async function gameOf(state) {
    const key = keyOf(state)
    if (!known.has(key)) known.set(key, state.line.length ? await referee(state) : {plies: beginning(state), refereed: null})
    return known.get(key)
}

/** Whether two states show the same game, wherever in it. */
export const isSameGame = (one, other) => keyOf(one) === keyOf(other)

/** Have a known game refereed anew, since it goes on otherwise; if that cannot be, it has no result. */
export async function refereeAgain(state) {
    const {refereed} = await referee(state).catch(error => {
        if (error instanceof Refused) return {refereed: null}
        throw error
    })
    know(state, {...known.get(keyOf(state)), refereed})
}
