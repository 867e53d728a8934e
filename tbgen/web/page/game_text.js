// A game as PGN: what of it decides the result besides its moves, and the way back to text.

import {numbered, withScore} from "./position.js"

const MOST_HEAD = 6000
const OF_START = ["FEN", "SetUp", "FENAccrued"]
const ROSTER = ["Event", "Site", "Date", "Round", "White", "Black"]
const TAG = /^[ \t]*\[[ \t]*(\w+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?[ \t]*\][ \t]*$/
const RESULTS = ["1-0", "0-1", "1/2-1/2", "*"]

/**
 * Return the head of a game: its tags, but those of the first position, and in a last line the last comment, which may
 * say how the game ended. It is empty if it is too long for an address.
 */
export function headOf(pgn) {
    const lines = pgn.replace(/^\ufeff/, "").split(/\r?\n/)
    const first = lines.findIndex(line => line.trim() && !TAG.test(line))
    const tags = lines.slice(0, first < 0 ? undefined : first).filter(line => TAG.test(line) && !OF_START.includes(line.match(TAG)[1]))
    const {comment, result} = endOf(pgn)
    if (!tags.some(line => line.match(TAG)[1] === "Result")) tags.push(`[Result "${result ?? "*"}"]`)
    const head = [...tags.map(line => line.trim()), ...(comment ? [comment.replace(/\s+/g, " ")] : [])].join("\n")
    return head.length > MOST_HEAD ? "" : head
}

/** Return the result that stands at the end of a text, and the comment before it. */
function endOf(pgn) {
    const text = pgn.trimEnd()
    const result = RESULTS.find(each => text.endsWith(each))
    const moves = text.slice(0, text.length - (result ?? "").length).trimEnd()
    const comment = moves.endsWith("}") ? moves.slice(moves.lastIndexOf("{")) : ""
    return {comment: /^\{[^{}]*\}$/.test(comment) && comment, result}
}

/** Return how the moves made so far are called. */
export function titleOf({head, main}) {
    const players = playersOf(head)
    return main ? `Aside of ${players || "the game"}` : players || "The game so far"
}

/** Return who plays whom, as far as the head of a game says it. */
function playersOf(head) {
    const tags = new Map(split(head).tags.map(line => line.match(TAG).slice(1)))
    const [white, black] = ["White", "Black"].map(name => (tags.get(name) ?? "?").replace(/\\(.)/g, "$1"))
    return white === "?" && black === "?" ? "" : `${white} – ${black}`
}

/** Return how many variations a text has. */
export function variationsOf(pgn) {
    return pgn.replace(/^\[.*$|\{[^}]*\}?|;.*$/gm, "").split("(").length - 1
}

/** Return moves from a position as PGN, with the head of their game if they are those of it. */
export function pgnOf({fen, accrued, head: own, main}, sans) {
    const head = main ? "" : own
    const start = accrued ? `${withScore(fen)} ${accrued}` : fen
    const {tags, comment} = split(head)
    const known = tags.length ? tags : [...ROSTER.map(name => `[${name} "?"]`), '[Result "*"]']
    const result = known.map(line => line.match(TAG)).find(([, name]) => name === "Result")?.[2] ?? "*"
    const moves = numbered(fen, sans).map(([label, san]) => label ? `${label} ${san}` : san)
    return `${[...known, '[SetUp "1"]', `[FEN "${start}"]`].join("\n")}\n\n${[...moves, comment, result].filter(Boolean).join(" ")}\n`
}

function split(head) {
    const lines = head.split("\n")
    return {tags: lines.filter(line => TAG.test(line)), comment: lines.find(line => line.startsWith("{")) ?? ""}
}
