// A game as PGN: what of it decides the result besides its moves, and the way back to text.

import {withScore} from "./position.js"
import {glyphsOf, inOrder, lineThrough} from "./tree.js"

const MOST_HEAD = 6000
const OF_START = ["FEN", "SetUp", "FENAccrued"]
const OF_END = ["Result", "Termination", "TerminationDetails", "PlyCount"]
const OF_OUTCOME = /^(RMobility|WGMobility)(Result|Basis|Accrued|Bounds|Doubts)$|^Points$/
const ROSTER = ["Event", "Site", "Date", "Round", "White", "Black"]
/** What annotators say of moves and positions, by the numbers of PGN (NAGs); others have no sign. */
export const SIGNS = "|!|?|!!|??|!?|?!|□|||=|||∞|⩲|⩱|±|∓|+−|−+|||⨀".split("|")
const TAG = /^\[(\w+) "((?:[^"\\]|\\.)*)"\]$/

/**
 * Return the head of a game: its tags, but those of the first position, and in a last line the last comment, which may
 * say how the game ended. It is empty if it is too long for an address.
 */
export function headOf({tags, comment, result}) {
    const lines = Object.entries({Result: result, ...tags}).filter(([name]) => !OF_START.includes(name))
        .map(([name, value]) => `[${name} "${value.replace(/[\\"]/g, "\\$&")}"]`)
    if (comment && !/[{}]/.test(comment)) lines.push(`{${comment.replace(/\s+/g, " ")}}`)
    const head = lines.join("\n")
    return head.length > MOST_HEAD ? "" : head
}

/** Return the head of a game that goes on otherwise: nothing in it says any more how it ended. */
export function openHead(head) {
    const ofEnd = name => OF_END.includes(name) || OF_OUTCOME.test(name)
    return split(head).tags.filter(line => !ofEnd(line.match(TAG)[1])).join("\n")
}

/** Return the head of a game with another last comment. */
export function withLast(head, comment) {
    const {tags} = split(head)
    return [...tags, ...comment ? [inBraces(comment)] : []].join("\n")
}

/** Return what somebody has written as a comment, in one line as PGN can have it. */
export const asComment = text => text.replace(/[{}]/g, found => found === "{" ? "(" : ")").replace(/\s+/g, " ").trim()

/** Return who plays whom, as far as the head of a game says it. */
export function titleOf({head}) {
    const tags = new Map(split(head).tags.map(line => line.match(TAG).slice(1)))
    const [white, black] = ["White", "Black"].map(name => (tags.get(name) ?? "?").replace(/\\(.)/g, "$1"))
    return white === "?" && black === "?" ? "The game so far" : `${white} – ${black}`
}

/** Return the comments of positions as they stand in an address; nothing if they are too long for it. */
export function commentsOf(plies) {
    const found = plies.flatMap(({comment}, number) => comment ? [[number, comment]] : [])
    const text = found.length ? JSON.stringify(Object.fromEntries(found)) : ""
    return text.length > MOST_HEAD ? "" : text
}

/** Return positions with the comments of an address. */
export function withComments(plies, text) {
    let found = {}
    try {
        found = JSON.parse(text || "{}")
    } catch {
        // an address that was cut
    }
    return plies.map((ply, number) => typeof found[number] === "string" ? {...ply, comment: found[number]} : ply)
}

/** Return moves from a position as PGN, with the head of their game. */
export function pgnOf({fen, accrued, head}, plies) {
    const start = accrued ? `${withScore(fen)} ${accrued}` : fen
    const {tags, comment} = split(head)
    const known = tags.length ? tags : ROSTER.map(name => `[${name} "?"]`)
    const said = known.map(line => line.match(TAG)).find(([, name]) => name === "Result")
    const result = said ? [] : ['[Result "*"]']
    const end = lineThrough(plies).at(-1)
    // The last comment may say how the game ended: it is that of the head, or none.
    const commentAfter = number => number === end ? "" : inBraces(plies[number].comment)
    const moves = [...inOrder(plies)].flatMap(each => each.number ? [each.label, plies[each.number].san, ...glyphsOf(plies[each.number]), commentAfter(each.number)] : [each])
    const text = [commentAfter(0), ...moves, comment, said && !/[A-Za-z]/.test(said[2]) ? said[2] : "*"].filter(Boolean).join(" ").replaceAll("( ", "(").replaceAll(" )", ")")
    return `${[...known, ...result, '[SetUp "1"]', `[FEN "${start}"]`].join("\n")}\n\n${text}\n`
}

const inBraces = comment => comment ? `{${comment.replaceAll("}", ")")}}` : ""

function split(head) {
    const lines = head.split("\n")
    return {tags: lines.filter(line => TAG.test(line)), comment: lines.find(line => line.startsWith("{")) ?? ""}
}
