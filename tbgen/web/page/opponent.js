// The page as a player: what a position is worth, and the move that it makes.

import {Refused, ask} from "./api.js"
import {plyOf} from "./contest.js"
import {after} from "./position.js"
import {mayHold} from "./stock.js"

/** Return what is known of a position: all if a table holds it, else its legal moves. */
async function look(fen, accrued) {
    try {
        if (mayHold(fen, "r")) return await ask("r", {fen, accrued})
    } catch (error) {
        if (!(error instanceof Refused && error.status === 404)) throw error
    }
    return await ask("r/moves", {fen, accrued})
}

/** Return the first ply of a game. */
export const opened = async (fen, accrued) => plyOf(await look(fen, accrued))

/** Return the ply that a move of the last one leads to. */
export const made = async (ply, move) => plyOf(await look(move.fen ?? after(ply.fen, move.uci), move.accrued), move)

/** Return the move that the page makes: where tables say it, the best one. */
export async function reply({value, answer}) {
    if (value === null) throw new Refused(404, answer.refusal)
    return answer.moves[0]
}
