// Positions to begin with: from the wiki of the rules, from the documentation, and records of the tables.

import {h} from "./dom.js"
import {read, variantOf} from "./state.js"
import {mayHold, stockUp} from "./stock.js"

const EXAMPLES = [
    ["A bishop more", "fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1", "A draw in chess. Here White gets Black down to one move, and that counts."],
    ["Stalemate by bishop", "fen=6k1/8/5K2/5B2/8/8/8/8_b_-_-_0_1", "White stalemates by force, and that is worth three quarters of the point."],
    ["Bare kings", "fen=8/6k1/8/4K3/8/8/8/8_b_-_-_0_1", "Not even bare kings are equal: White gets Black down to five moves."],
    ["A score worth keeping", "fen=8/8/8/2K3k1/8/8/8/8_w_-_-_3_60&accrued=-G5.5", "What Black has accrued counts for more than the position does."],
    ["Give the pawn up", "fen=8/8/5k1K/5P2/8/8/8/8_w_-_-_1_60&accrued=-G2.5", "Black holds a score. White loses least if he lets the pawn go, for captures reset."],
    ["The same without resets", "fen=8/8/5k1K/5P2/8/8/8/8_w_-_-_1_60&accrued=-G2.5&rules=wg", "In whole-game mobility it is no help to give the pawn up."],
    ["The last pawn", "fen=4k3/4P3/4K3/8/8/8/8/8_b_-_-_0_1", "No draw here: White has stalemated."],
    ["Knight and kings", "fen=8/8/8/2kNK3/8/8/8/8_b_-_-_0_1", "What a knight gives, from the wiki of the rules."],
    ["Bishop: the longest way", "fen=8/8/8/8/8/2k5/8/K2B4_b_-_-_0_1", "46 plies until Black is down to one move."],
    ["Bishop: the longest stalemate", "fen=8/8/8/8/8/8/8/2K1B1k1_w_-_-_0_1", "A stalemate in 17 plies."],
    ["Rook against bishop", "fen=8/8/8/7R/3K4/6k1/6b1/8_b_-_-_0_1", "Look along the slider: what Black had before decides how far he gets."],
    ["In classical chess", "fen=8/8/8/8/8/8/8/K2kr3_w_-_-_0_1&rules=classical", "The same tables know who mates, and when."],
]

/**
 * List the examples as links, those whose tables are there.
 *
 * @param {(query: string) => void} onGo told which one is followed here, and not in another window
 */
export async function showExamples(element, onGo) {
    await stockUp()
    for (const [name, query, text] of EXAMPLES) {
        const {fen, rules} = read(`?${query}`)
        if (!mayHold(fen, variantOf(rules))) continue
        const link = h("a", {href: `?${query}`, onclick: event => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return
            event.preventDefault()
            onGo(`?${query}`)
        }}, name)
        element.append(h("li", {}, link, h("br"), h("span", {class: "note"}, text)))
    }
}
