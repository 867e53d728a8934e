// A game as a tree of positions, and as PGN. Each position has the number of the position that it is `after`. The first move
// after a position continues the line; the others are variations.

import {labelOf, withScore} from "./position.js"

const MAX_HEAD_LETTERS = 6000
const OF_START = ["FEN", "SetUp", "FENAccrued"]
const OF_END = ["Result", "Termination", "TerminationDetails", "PlyCount"]
const OF_OUTCOME = /^(RMobility|WGMobility)(Result|Basis|Accrued|Bounds|Doubts)$|^Points$/
const ROSTER = ["Event", "Site", "Date", "Round", "White", "Black"]
/** Signs of glyphs by their numbers in PGN (NAGs); other glyphs have no sign. */
export const SIGNS = "|!|?|!!|??|!?|?!|□|||=|||∞|⩲|⩱|±|∓|+−|−+|||⨀".split("|")
const TAG = /^\[([\w+#=:-]+) "((?:[^"\\]|\\.)*)"\]$/

/**
 * Return the positions of the moves in an address: "3.Kf4" is made in position 3, "Kf4" in the position before it in the
 * list. Glyphs follow a move as in PGN, "Kf4$1"; they are ignored here, but the referee reads them.
 * @type {(tokens: string[]) => Ply[]}
 */
export function parsed(tokens) {
    const moves = tokens.map((token, index) => {
        const [, after = index, san] = token.match(/^(?:(\d+)\.)?(.*)$/)
        return {san, after: Math.min(Number(after), index)}
    })
    return [{san: null, after: null}, ...moves]
}

/** Return the main line of the moves in an address, without glyphs. @type {(tokens: string[]) => string[]} */
export function mainLine(tokens) {
    const plies = parsed(tokens)
    return lineThrough(plies).slice(1).map(number => plies[number].san.replace(/\$.*/, ""))
}

/** Return the positions of a game without variations. @type {(plies: Ply[]) => Ply[]} */
export const inLine = plies => plies.map((ply, number) => ({...ply, after: number ? number - 1 : null}))

/** Return the moves of positions for an address; the inverse of `parsed`. @type {(plies: Ply[]) => string[]} */
export const tokensOf = plies => plies.slice(1).map((ply, index) => (ply.after === index ? "" : `${ply.after}.`) + ply.san + glyphsOf(ply).join(""))

/** Return the glyphs of a move as written in PGN. @type {(ply: Ply) => string[]} */
const glyphsOf = ({nags = []}) => nags.map(number => `$${number}`)

/** Return for each position the numbers of the positions after it. @type {(plies: Ply[]) => number[][]} */
export function nextOf(plies) {
    const found = plies.map(() => /** @type {number[]} */ ([]))
    plies.forEach(({after}, number) => after === null || found[after].push(number))
    return found
}

/** Return the numbers of the positions from the first one to `at`. @type {(plies: Ply[], at: number) => number[]} */
export function upTo(plies, at) {
    const path = []
    for (let here = at; here !== null; here = plies[here].after) path.unshift(here)
    return path
}

/** Return the numbers of the positions of the line through a position, by default of the main line. @type {(plies: Ply[], at?: number) => number[]} */
export function lineThrough(plies, at = 0) {
    const next = nextOf(plies)
    const path = upTo(plies, at)
    while (next[path.at(-1)].length) path.push(next[path.at(-1)][0])
    return path
}

/** Whether two trees have the same main line. @type {(one: Ply[], other: Ply[]) => boolean} */
export function isSameLine(one, other) {
    const [first, second] = [one, other].map(plies => lineThrough(plies).map(number => plies[number].san).join(" "))
    return first === second
}

/** Return the number of the position that an arrow key leads to: back, forward, or to an alternative move. @type {(plies: Ply[], at: number, key: string) => number} */
export function towards(plies, at, key) {
    const next = nextOf(plies)
    const {after} = plies[at]
    if (key === "ArrowRight") return next[at][0]
    if (after === null) return undefined
    if (key === "ArrowLeft") return after
    const step = {ArrowUp: -1, ArrowDown: 1}[key]
    return step && next[after][next[after].indexOf(at) + step]
}

/** Return the positions with `ply` added after a numbered position, and the number of the new position. An existing position is not added again. @type {(plies: Ply[], after: number, ply: Ply) => {plies: Ply[], at: number}} */
export function added(plies, after, ply) {
    const found = plies.findIndex(each => each.after === after && each.san === ply.san)
    return found < 0 ? {plies: [...plies, {...ply, after}], at: plies.length} : {plies, at: found}
}

/** Return the positions without a numbered one and all positions that follow it. @type {(plies: Ply[], number: number) => Ply[]} */
export function without(plies, number) {
    const renumbered = new Map()
    const left = /** @type {Ply[]} */ ([])
    plies.forEach((ply, old) => {
        if (old === number || (ply.after !== null && !renumbered.has(ply.after))) return
        renumbered.set(old, left.length)
        left.push(ply.after === null ? ply : {...ply, after: renumbered.get(ply.after)})
    })
    return left
}

/** Return positions reordered so that the line to a position is the main line, and the new number of this position. @type {(plies: Ply[], number: number) => {plies: Ply[], at: number}} */
export function promoted(plies, number) {
    const path = new Set(upTo(plies, number))
    const next = nextOf(plies).map(after => after.toSorted((one, two) => Number(path.has(two)) - Number(path.has(one))))
    const order = /** @type {number[]} */ ([])
    const visit = (/** @type {number} */ each) => {
        order.push(each)
        next[each].forEach(visit)
    }
    visit(0)
    const renumbered = new Map(order.map((old, at) => [old, at]))
    return {
        plies: order.map(old => ({...plies[old], after: renumbered.get(plies[old].after) ?? null})),
        at: renumbered.get(number),
    }
}

/** Return the positions with a new comment on a numbered one; an empty text removes the comment. @type {(plies: Ply[], number: number, comment: string) => Ply[]} */
export const commented = (plies, number, comment) => plies.map((ply, each) => each === number ? {...ply, comment} : ply)

/** Yield the moves in the order of PGN as `{number, label}`, and "(" and ")" around variations. @type {(plies: Ply[]) => Generator<Step>} */
export function* inOrder(plies) {
    yield* from(plies, nextOf(plies), 0, 0, true)
}

/** @type {(plies: Ply[], next: number[][], start: number, depth: number, fresh: boolean) => Generator<Step>} */
function* from(plies, next, start, depth, fresh) {
    const {fen} = plies[0]
    for (let here = start; next[here].length; [here] = next[here], depth++) {
        const [first, ...others] = next[here]
        yield {number: first, label: labelOf(fen, depth, fresh)}
        for (const number of others) {
            yield "("
            yield {number, label: labelOf(fen, depth, true)}
            yield* from(plies, next, number, depth + 1, false)
            yield ")"
        }
        fresh = others.length > 0
    }
}

/**
 * Return positions with the referee's answers about them; null if the numbers of positions differ.
 *
 * @type {(plies: Ply[], game: GameDocument) => Ply[]}
 * @param game the referee's answer, which has the main line and then the variations in the order of the text
 */
export function refereed(plies, {plies: main, variations}) {
    const said = [...main, ...variations]
    const mainLine = lineThrough(plies)
    const inMain = new Set(mainLine)
    const others = [...inOrder(plies)].map(each => typeof each === "string" ? 0 : each.number).filter(number => number && !inMain.has(number))
    const order = [...mainLine, ...others]
    if (said.length !== plies.length || main.length !== mainLine.length) return null
    const found = /** @type {Ply[]} */ ([])
    order.forEach((number, index) => { found[number] = {...said[index], after: plies[number].after} })
    return found
}

// PGN: the parts of a game that decide the result besides its moves, and writing PGN.

/**
 * Return the head of a game: its tags, except those of the first position, and in a last line the last comment, which may
 * say how the game ended. The head is empty if it is too long for an address.
 * @type {(game: Pick<ListedGameDocument, "tags" | "comment" | "result">) => string}
 */
export function headOf({tags, comment, result}) {
    const lines = Object.entries({Result: result, ...tags}).filter(([name]) => !OF_START.includes(name))
        .map(([name, value]) => `[${name} "${value.replace(/[\\"]/g, "\\$&")}"]`)
    if (comment && !/[{}]/.test(comment)) lines.push(`{${comment.replace(/\s+/g, " ")}}`)
    const head = lines.join("\n")
    return head.length > MAX_HEAD_LETTERS ? "" : head
}

/** Return the head of a changed game, without everything that says how the game ended. @type {(head: string) => string} */
export function openHead(head) {
    const ofEnd = (/** @type {string} */ name) => OF_END.includes(name) || OF_OUTCOME.test(name)
    return split(head).tags.filter(line => !ofEnd(line.match(TAG)[1])).join("\n")
}

/** Return the head of a game with another last comment. @type {(head: string, comment: string) => string} */
export function withLast(head, comment) {
    const {tags} = split(head)
    return [...tags, ...comment ? [inBraces(comment)] : []].join("\n")
}

/** Return a typed comment in one line, in the form that PGN allows. @type {(text: string) => string} */
export const asComment = text => text.replace(/[{}]/g, found => found === "{" ? "(" : ")").replace(/\s+/g, " ").trim()

/** Return the players named in the head of a game. @type {(state: {head: string}) => string} */
export function titleOf({head}) {
    const tags = new Map(split(head).tags.map(line => line.match(TAG)).map(([, name, value]) => [name, value]))
    const [white, black] = ["White", "Black"].map(name => (tags.get(name) ?? "?").replace(/\\(.)/g, "$1"))
    return white === "?" && black === "?" ? "The game so far" : `${white} – ${black}`
}

/** Return the comments of positions in the form of an address; empty if they are too long for an address. @type {(plies: Ply[]) => string} */
export function commentsOf(plies) {
    const found = plies.flatMap(({comment}, number) => comment ? [[number, comment]] : [])
    const text = found.length ? JSON.stringify(Object.fromEntries(found)) : ""
    return text.length > MAX_HEAD_LETTERS ? "" : text
}

/** Return positions with the comments of an address. @type {(plies: Ply[], text: string) => Ply[]} */
export function withComments(plies, text) {
    let found = /** @type {Record<number, string>} */ ({})
    try {
        found = JSON.parse(text || "{}")
    } catch {
        // the address was truncated
    }
    return plies.map((ply, number) => typeof found[number] === "string" ? {...ply, comment: found[number]} : ply)
}

/** Return moves from a position as PGN, with the head of their game. @type {(start: Start & {head: string}, plies: Ply[]) => string} */
export function pgnOf({fen, accrued, head}, plies) {
    const start = accrued ? `${withScore(fen)} ${accrued}` : fen
    const {tags, comment} = split(head)
    const known = tags.length ? tags : ROSTER.map(name => `[${name} "?"]`)
    const said = known.map(line => line.match(TAG)).find(([, name]) => name === "Result")
    const result = said ? [] : ['[Result "*"]']
    const end = lineThrough(plies).at(-1)
    // The last comment comes only from the head, because it may say how the game ended.
    const commentAfter = (/** @type {number} */ number) => number === end ? "" : inBraces(plies[number].comment)
    const moves = [...inOrder(plies)].flatMap(each => typeof each === "string" ? [each] : [each.label, plies[each.number].san, ...glyphsOf(plies[each.number]), commentAfter(each.number)])
    const text = [commentAfter(0), ...moves, comment, said && !/[A-Za-z]/.test(said[2]) ? said[2] : "*"].filter(Boolean).join(" ").replaceAll("( ", "(").replaceAll(" )", ")")
    return `${[...known, ...result, '[SetUp "1"]', `[FEN "${start}"]`].join("\n")}\n\n${text}\n`
}

/** @type {(comment: string) => string} */ const inBraces = comment => comment ? `{${comment.replaceAll("}", ")")}}` : ""

/** @type {(head: string) => {tags: string[], comment: string}} */ function split(head) {
    const lines = head.split("\n")
    return {tags: lines.filter(line => TAG.test(line)), comment: lines.find(line => line.startsWith("{")) ?? ""}
}
