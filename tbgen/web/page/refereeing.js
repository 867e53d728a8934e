// A game that is pasted as PGN, and refereed.

import {attempt, post} from "./api.js"
import {$} from "./dom.js"
import {headOf, variationsOf} from "./game_text.js"
import {withScore} from "./position.js"

/**
 * @param {() => string} variant returns the rules to referee by
 * @param {(game: object, change: object) => void} onGame told of its `plies` and what the referee says, and of the
 *     state that shows it from the first position that tables hold
 */
export function offerReferee(variant, onGame) {
    $("refereeing").addEventListener("submit", event => {
        event.preventDefault()
        const text = $("pgn").value
        attempt($("pgn-problem"), async () => {
            const game = await post(`${variant()}/game`, text)
            onGame({plies: game.plies, refereed: {...game, variations: variationsOf(text)}}, stateOf(game.plies, headOf(text)))
        })
    })
}

function stateOf(plies, head) {
    const [start] = plies
    const own = start.accrued === start.position_score
    const first = plies.findIndex(ply => ply.value)
    return {
        fen: own ? start.fen : withScore(start.fen), accrued: own ? null : start.accrued, line: plies.slice(1).map(ply => ply.san),
        head, main: null, setup: false, at: first < 0 ? plies.length - 1 : first,
    }
}
