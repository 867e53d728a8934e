// A line with described men, of which there is no PGN: tables know the moves.

import {Refused, ask} from "./api.js"
import {after} from "./position.js"
import {variantOf} from "./state.js"
import {parsed} from "./tree.js"

/** Return the positions of the line of a state. */
export async function replayed({fen, accrued, rules, line}) {
    const plies = parsed(line)
    Object.assign(plies[0], {fen, accrued})
    for (const ply of plies.slice(1)) {
        const from = plies[ply.after]
        const found = await ask(variantOf(rules), {fen: from.fen, accrued: from.accrued})
        Object.assign(from, {accrued: found.accrued, value: found.value})
        const move = found.moves.find(each => each.san === ply.san)
        if (!move) throw new Refused(400, {code: "bad_input", message: `the line has ${ply.san}, which is no legal move there`})
        Object.assign(ply, {fen: after(from.fen, move.uci), uci: move.uci, accrued: move.accrued, value: move.value})
    }
    return plies
}
