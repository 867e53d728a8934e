// The state of the page and its form in the address: every view can be linked to.

import {isBoard} from "./position.js"

const START = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
const REST = ["w", "-", "-", "0", "1"]
const MAX_LINE_LETTERS = 4000 // longer lines go into the hash, which no server or proxy sees
const RULES = ["r", "wg", "classical", "stalemate-wins", "lasker"]

/**
 * A state: `fen` and `accrued` (null for the position score) of the first position, `line` (the moves from there, see
 * tree.js), `at` (the number of the shown position: without variations, the number of moves made), `head` (the tags of
 * the game, and how it ended) and `comments`, both see tree.js, `rules`, `flipped`, `setup`, and `lesson` (the number of
 * the guide's lesson to which the position belongs, from 1; 0 for none).
 * @type {State}
 */
export const DEFAULT = {fen: START, accrued: null, line: [], at: 0, head: "", comments: "", rules: "r", flipped: false, setup: false, lesson: 0}

/** Return the state of an address. An unescaped plus belongs to a move, such as Qh5+, or stands for a space in a FEN. @type {(search: string, hash?: string) => State} */
export function read(search, hash = "") {
    const given = new URLSearchParams(search.replaceAll("+", "%2B"))
    const hidden = new URLSearchParams(hash.replace(/^#/, ""))
    const fields = (given.get("fen") ?? START).split(/[\s_+]+/).filter(Boolean)
    const rest = isBoard(fields[0]) ? REST.slice(Math.max(0, fields.length - 1)) : [] // an invalid FEN is kept as it is
    const line = (hidden.get("line") ?? given.get("line") ?? "").split("_").filter(Boolean)
    const at = given.has("at") ? Number(given.get("at")) : line.length
    return {
        fen: [...fields, ...rest].slice(0, 6).join(" "),
        accrued: given.get("accrued") || fields[6] || null,
        line,
        at: Number.isInteger(at) ? Math.min(Math.max(at, 0), line.length) : line.length,
        head: line.length ? hidden.get("game") ?? "" : "",
        comments: line.length ? hidden.get("comments") ?? "" : "",
        rules: RULES.includes(given.get("rules")) ? given.get("rules") : "r",
        flipped: given.get("side") === "black",
        setup: given.has("setup"),
        lesson: hidden.has("how") ? Number(hidden.get("how")) || 1 : 0,
    }
}

/** @type {(state: State) => string} */ export function written(state) {
    const query = [`fen=${state.fen.replaceAll(" ", "_")}`]
    if (state.accrued) query.push(`accrued=${state.accrued}`)
    const hidden = /** @type {string[]} */ ([])
    const moves = state.line.map(encodeURIComponent).join("_")
    if (moves) (moves.length > MAX_LINE_LETTERS ? hidden : query).push(`line=${moves}`)
    if (state.line.length && state.head) hidden.push(new URLSearchParams({game: state.head}).toString())
    if (state.line.length && state.comments) hidden.push(new URLSearchParams({comments: state.comments}).toString())
    if (state.lesson) hidden.push(`how=${state.lesson}`)
    if (state.at !== state.line.length) query.push(`at=${state.at}`)
    if (state.rules !== "r") query.push(`rules=${state.rules}`)
    if (state.flipped) query.push("side=black")
    if (state.setup) query.push("setup")
    return `?${query.join("&")}${hidden.length ? `#${hidden.join("&")}` : ""}`
}

/** Return the variant whose moves are made under some rules; a view is one of r-mobility. @type {(rules: string) => string} */
export const variantOf = rules => rules === "wg" ? "wg" : "r"

/** @type {(rules: string) => boolean} */ export const isView = rules => !["r", "wg"].includes(rules)

/** Return the parameters of a question about a position; in a view there is no accrued score. @type {(position: {fen?: string, accrued?: string}, rules: string) => Question} */
export const questionOf = ({fen, accrued}, rules) => isView(rules) ? {fen} : {fen, accrued}
