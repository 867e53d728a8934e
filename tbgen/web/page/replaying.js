// A line with described men, of which there is no PGN: tables know the moves.

import {Refused, ask} from "./api.js"
import {after} from "./position.js"
import {variantOf} from "./state.js"

/** Return the positions of the line of a state. */
export async function replayed({fen, accrued, rules, line}) {
    const plies = [{fen, san: null, accrued}]
    for (const san of line) {
        const from = plies.at(-1)
        const found = await ask(variantOf(rules), {fen: from.fen, accrued: from.accrued})
        Object.assign(from, {accrued: found.accrued, value: found.value})
        const move = found.moves.find(each => each.san === san)
        if (!move) throw new Refused(400, {code: "bad_input", message: `the line has ${san}, which is no legal move there`})
        plies.push({fen: after(from.fen, move.uci), san, uci: move.uci, accrued: move.accrued, value: move.value})
    }
    return plies
}
