// The tables that the server has, so that the page requests nothing from missing ones, and positions to begin with.

import {ask, attempt, isStatic} from "./api.js"
import {$, h, onPlainClick} from "./browser.js"
import {MOST_MEN, isWhite, parse} from "./position.js"
import {read, variantOf} from "./state.js"

/** Positions from the wiki of the rules and from the documentation, and records of the tables. */
const EXAMPLES = [
    ["A bishop more", "fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1", "A draw in chess. Here White gets Black down to one move, and that counts."],
    ["Stalemate by bishop", "fen=6k1/8/5K2/5B2/8/8/8/8_b_-_-_0_1", "White stalemates by force, and that is worth three quarters of the point."],
    ["Bare kings", "fen=8/6k1/8/4K3/8/8/8/8_b_-_-_0_1", "Not even bare kings are equal: White gets Black down to five moves."],
    ["A score worth keeping", "fen=8/8/8/2K3k1/8/8/8/8_w_-_-_3_60&accrued=-G5.5", "What Black has accrued counts for more than the position does."],
    ["Give the pawn up", "fen=8/8/5k1K/5P2/8/8/8/8_w_-_-_1_60&accrued=-G2.5", "Black holds a score. White loses least if he lets the pawn go, for captures reset."],
    ["The same without resets", "fen=8/8/5k1K/5P2/8/8/8/8_w_-_-_1_60&accrued=-G2.5&rules=wg", "In whole-game mobility it is no help to give the pawn up."],
    ["The last pawn", "fen=4k3/4P3/4K3/8/8/8/8/8_b_-_-_0_1", "No draw here: White has stalemated."],
    ["Knight and kings", "fen=8/8/8/2kNK3/8/8/8/8_b_-_-_0_1", "What a knight gives, from the wiki of the rules."],
    ["Bishop: the longest way", "fen=8/8/8/8/8/2k5/8/K2B4_b_-_-_0_1", "23 moves until Black is down to one."],
    ["Bishop: the longest stalemate", "fen=8/8/8/8/8/8/8/2K1B1k1_w_-_-_0_1", "A stalemate in 9 moves."],
    ["Rook against bishop", "fen=8/8/8/7R/3K4/6k1/6b1/8_b_-_-_0_1", "Look along the slider: what Black had before decides how far he gets."],
    ["In classical chess", "fen=8/8/8/8/8/8/8/K2kr3_w_-_-_0_1&rules=classical", "The same tables know who mates, and when."],
]

export const ENDGAMES = [
    ["A bishop more", "8/8/8/4KBk1/8/8/8/8 b - - 0 1", "A draw in chess"],
    ["Bare kings", "8/6k1/8/4K3/8/8/8/8 b - - 0 1", "Not even they are equal"],
    ["Bishop and knight", "8/8/8/4k3/8/8/8/2B1K1N1 w - - 0 1", "The hardest of the simple mates"],
    ["Two knights", "8/8/8/4k3/8/8/8/1N2K1N1 w - - 0 1", "No forced mate"],
    ["Réti, 1921", "7K/8/k1P5/7p/8/8/8/8 w - - 0 1", "A king that seems too late"],
    ["Saavedra, 1895", "8/2P5/8/8/3r4/8/2K5/k7 w - - 0 6", "Which promotion mates?"],
    ["Philidor, 1777", "1k6/1r6/2K5/Q7/8/8/8/8 w - - 0 1", "A queen against a rook"],
    ["Rook against bishop", "8/8/8/7R/3K4/6k1/6b1/8 b - - 0 1", "A draw in chess"],
    ["The opposition", "8/8/8/4k3/8/4K3/4P3/8 w - - 0 1", "A draw in chess"],
    ["Lucena", "1K1k4/1P6/8/8/8/8/r7/2R5 w - - 0 1", "The bridge"],
]

/** @type {TableDocument[]} */ let tables = null

/** Return the list of the server's tables, empty if it is unavailable; it is requested once. */
export async function stockUp() {
    tables ??= await ask("tables").then(found => found.tables, () => /** @type {TableDocument[]} */ (null))
    return tables ?? []
}

/** On a site without a server, offer only rules that have tables, since visitors cannot build others. An address may still name others. @type {(select: HTMLSelectElement) => Promise<void>} */
export async function offerRules(select) {
    if (!isStatic) return
    const there = await stockUp()
    if (!there.length) return
    for (const option of select.options) option.hidden = option.disabled = !there.some(({rules}) => rules === variantOf(option.value))
}

/** Whether a table may hold a position; without a list of tables, any table of up to five men may exist. @type {(fen: string, variant: string) => boolean} */
export function mayHold(fen, variant) {
    const {men, castling} = parse(fen)
    if (men.size > MOST_MEN || castling !== "-") return false
    const letters = [...men.values()]
    const sides = [letters.filter(isWhite), letters.filter(man => !isWhite(man))]
    const wanted = materialOf(sides.map(side => side.map(man => man.toUpperCase())))
    return !tables?.length || tables.some(({material, rules}) => rules === variant && materialOf(material.split("v").map(menOf)) === wanted)
}

/** @type {(side: string) => string[]} */ const menOf = side => side.match(/\[[^\]]*\]|./g)

/** Return a name of the material that does not depend on the colours. @type {(sides: string[][]) => string} */
const materialOf = sides => sides.map(side => [...side].sort().join("")).sort().join("v")

// Random positions, optionally of a material or with a value.

/**
 * Let the visitor find random positions.
 *
 * @type {(variant: () => string, onFound: (fen: string) => unknown) => void}
 * @param variant returns the current variant
 * @param onFound
 */
export function offerSamples(variant, onFound) {
    $("sampling").addEventListener("submit", event => {
        event.preventDefault()
        attempt($("sampling-problem"), async () => {
            const wanted = {material: $("sample-material").value.trim(), value: $("sample-value").value.trim(), side: $("sample-side").value}
            onFound((await ask(`${variant()}/sample`, wanted)).fen)
        })
    })
    $("sample-material").addEventListener("focus", async () => {
        const names = (await stockUp()).filter(table => table.rules === variant()).map(table => table.material)
        $("materials").replaceChildren(...names.map(value => h("option", {value})))
    })
}

/**
 * List as links the examples whose tables exist.
 *
 * @type {(element: Element, onGo: (query: string) => unknown) => Promise<void>}
 * @param onGo called with the query of the example that was clicked, unless it opens in another window
 */
export async function showExamples(element, onGo) {
    await stockUp()
    for (const [name, query, text] of EXAMPLES) {
        const {fen, rules} = read(`?${query}`)
        if (!mayHold(fen, variantOf(rules))) continue
        const link = h("a", {href: `?${query}`, onclick: onPlainClick(() => onGo(`?${query}`))}, name)
        element.append(h("li", {}, link, h("br"), h("span", {class: "note"}, text)))
    }
}
