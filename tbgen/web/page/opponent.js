// The page as a player: what a position is worth, and the move that it makes.

import {Refused, ask, post} from "./api.js"
import {plyOf} from "./contest.js"
import {pgnOf} from "./game_text.js"
import {after} from "./position.js"
import {mayHold} from "./stock.js"
import {inLine} from "./tree.js"

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

/**
 * Return the move that the page makes at the end of a game: where tables say it, the best one, else that of an engine.
 *
 * @param {object} start `fen` and `accrued` of the first position
 */
export async function reply(plies, start) {
    const {value, answer: {moves}} = plies.at(-1)
    if (value !== null) return moves[0]
    const {uci} = await post("r/reply", pgnOf({...start, head: ""}, inLine(plies)))
    return moves.find(move => move.uci === uci)
}
