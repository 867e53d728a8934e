// G-scores: their order, their text, and words for them; and the explanations of terms.

import {h} from "./browser.js"
import {moverOf} from "./position.js"

const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]

/** Words for a lead in points, each with the smallest lead that it describes. @type {[number, string][]} */
const AMOUNTS = [[0.25, "clearly"], [0.06, "by a little"], [0, "by very little"]]

/** Return twice the number of a score: the rank of docs/glossary.md. @type {(score: string) => number} */
export const rankOf = score => Math.round(2 * Number(score.replace(/^-?G/, "")))

/** @type {(score: string) => boolean} */ export const isWhites = score => !score.startsWith("-")

/** @type {(score: string) => Side} */ export const sideOf = score => isWhites(score) ? "White" : "Black"

/** @type {(side: Side) => Side} */ export const otherSide = side => side === "White" ? "Black" : "White"

/** Return the score with the colours exchanged. @type {(score: string) => string} */
export const opposite = score => score === null ? null : isWhites(score) ? `-${score}` : score.slice(1)

/** Return the place of a score on a scale from -1 for Black's best score to 1 for White's best; scores of small rank are far apart on it. @type {(score: string) => number} */
export function height(score) {
    const share = 1 / (1 + rankOf(score) / 6)
    return isWhites(score) ? share : -share
}

/** Return the mark of a move between two positions: "??" if it passes the score to the opponent, "?" if it only reduces the lead. @type {(before: {value?: string}, after: {value?: string}) => string} */
export function markOf(before, after) {
    if (!before?.value || !after.value || before.value === after.value) return ""
    return isWhites(before.value) === isWhites(after.value) ? "?" : "??"
}

/** Return the points of a score: each half step halves the lead, down to the least lead that a number can show. @type {(score: string) => PointsDocument} */
export function pointsOf(score) {
    const lead = 2 ** -Math.min(rankOf(score), 52) * (isWhites(score) ? 1 : -1)
    return {white: (1 + lead) / 2, black: (1 - lead) / 2}
}

/**
 * Return points as the commands print them, "0.5625-0.4375": White's with four decimals, a half rounded to even, and the
 * rest of 1; with signs if four decimals hide who has more.
 * @type {(points: PointsDocument) => string}
 */
export function pointsText({white, black}) {
    const share = even(10000 * white)
    const signs = share !== 5000 || white === black ? ["", ""] : white > black ? [">", "<"] : ["<", ">"]
    return [share, 10000 - share].map((part, at) => signs[at] + (part / 10000).toFixed(4)).join("-")
}

/** Round a number to an integer, a half to the even one. @type {(number: number) => number} */
const even = number => number % 2 === 0.5 ? Math.floor(number) : Math.round(number)

// In words.

/** Return a number with its noun: "1 game", "2 games". @type {(number: number, one: string, several?: string) => string} */
export const counted = (number, one, several = `${one}s`) => `${number} ${number === 1 ? one : several}`

/** @type {(number: number) => string} */ export const plies = number => counted(number, "ply", "plies")

/**
 * Return a number of plies in moves of the side that makes the last of them, as players count the moves to a mate.
 *
 * @type {(number: number) => number}
 * @param number of plies
 * @returns {number}
 */
export const movesIn = number => (number + 1) >> 1

/** @type {(score: string) => boolean} */ const isCheck = score => rankOf(score) % 2 === 0

/** @type {(score: string, noun: string) => string} */ function moves(score, noun) {
    const number = rankOf(score) >> 1
    return `${NUMBERS[number] ?? number} ${noun}${number === 1 ? "" : "s"}`
}

/** Return in words the moves that a score leaves to the opponent of its holder, such as "in check and down to one legal move". @type {(score: string) => string} */
export const leaves = score => `${isCheck(score) ? "in check and " : ""}down to ${moves(score, "legal move")}`

/** Return the state of the side to move by the position score, such as "is in check and has one legal move". @type {(score: string) => string} */
export const opponentHas = score => `${isCheck(score) ? "is in check and " : ""}has ${moves(score, "legal move")}`

/** Return the sentence for a position that has an accrued score but no known value. @type {(accrued: string) => string} */
export const unknownSentence = accrued => `No table says what this is worth. ${accrued} has accrued so far.`

/** Return a sentence on the result of best play. @type {(answer: Omit<Answer, "moves">) => string} */
export function sentence(answer) {
    const mover = moverOf(answer.fen)
    const {value, depth, accrued} = answer
    if (answer.checkmate) return `${mover} is mated.`
    if (answer.stalemate) return `${mover} is stalemated.`
    if (answer.view) return answer.winner === null ? "A draw with best play." : `${winning(answer)}${inMoves(depth)}.`
    const holder = sideOf(value)
    const opponent = otherSide(holder)
    if (rankOf(value) === 0) return `${holder} mates${inMoves(depth)}.`
    if (rankOf(value) === 1) return `${holder} stalemates ${opponent}${inMoves(depth)}.`
    if (depth === 0 || value === accrued) {
        return `${holder} keeps ${value} and wins ${amount(answer.points)}: that has accrued, and best play leaves it at that${shares(answer.points)}.`
    }
    return `${holder} wins ${amount(answer.points)}:${inMoves(depth)} ${opponent} gets ${leaves(value)}${shares(answer.points)}.`
}

/** Return points as the end of a sentence, with two decimals, or with three if these represent them exactly; empty if both sides have the same points. @type {(points: PointsDocument) => string} */
function shares({white, black}) {
    const [ours, theirs] = [white, black].map(number => 1000 * number % 1 ? number.toFixed(2) : String(number))
    return ours === theirs ? "" : ` (${ours} : ${theirs})`
}

/** Return the lead of a result, in words. @type {(points: PointsDocument) => string} */
export function amount({white, black}) {
    const lead = Math.abs(white - black)
    const [, words] = AMOUNTS.find(([least]) => lead >= least)
    return words
}

/** Return who wins in a view of the tables, and how. @type {(found: {winner?: Colour, points?: PointsDocument}) => string} */
export const winning = ({winner, points}) => `${winner === "white" ? "White" : "Black"} ${points[winner] === 1 ? "wins" : "stalemates"}`

/** @type {(depth: number) => string} */ const inMoves = depth => depth === null ? "" : ` in ${counted(movesIn(depth), "move")}`

/** Return the value of an answer, short and large. @type {(answer: Answer) => string} */
export function headline(answer) {
    if (!answer.view) return answer.value
    return `${Number(answer.points.white)}-${Number(answer.points.black)}`
}

// As elements.

/** Return an element that shows a score without a line break after the minus. @type {(text: string) => HTMLElement} */
export const score = text => h("span", {class: "score"}, text)

/** Return a text as nodes, its scores as elements. @type {(text: string) => (Node | string)[]} */
export const scoreNodes = text => text.split(/(-?G\d+\.\d)/).map((part, index) => index % 2 ? score(part) : part)

/** Return nodes that show the change of a score to another one. @type {(from: string, to: string) => (Node | string)[]} */
export const change = (from, to) => [score(from), " → ", score(to)]

/** Show a score in large type; a minus is explained beside it. @type {(element: HTMLElement, text: string) => void} */
export function showScore(element, text) {
    element.replaceChildren(score(text))
    element.classList.toggle("minus", text.startsWith("-"))
}

// Terms that explain themselves to pointer, touch and keys; data-term marks them on a page.

/** @type {Record<string, string>} */ const TERMS = {
    material: "The men, White's before the v.",
    points: "What White and Black get of the point if both play best.",
    accrued: "The lowest score since the last capture or pawn move; the first of equal ones counts. A minus is Black's.",
    bar: "The bar is the score that counts so far, the lowest since the last capture or pawn move, in the colour of the side that holds it: the fewer moves were left, the longer the bar.",
    position: "The score of this position alone: the legal moves of the side to move, and half a move more if it is not in check. A minus is Black's.",
    depth: "The moves of the side that gets the value, until it is reached by best play. Plies count the moves of both sides.",
    score: "The number of legal moves left to the opponent, and half a move more if he is not in check: the fewer, the better. A minus is Black's.",
    worth: "The score that best play comes to from there.",
    mistake: "A move after which best play gives its side less.",
    resets: "After a capture or a pawn move the accrued score is that of the new position.",
    held: "The lowest score of this side since the last capture or pawn move. The side with the better one is ahead: that score has accrued.",
    evaluation: "What the engine thinks of its own side, in pawns: with a plus it is ahead.",
}

/** Return the id of an element that explains a term. @type {(name: string) => string} */
function described(name) {
    const id = `term-${name}`
    if (!document.getElementById(id)) document.body.append(h("p", {id, hidden: true}, TERMS[name]))
    return id
}

/** Let an element explain its term when it is pointed at, touched or reached by keys. @type {<Kind extends HTMLElement>(element: Kind) => Kind} */
function explain(element) {
    const {term: name} = element.dataset
    for (const [key, value] of Object.entries({"data-tip": TERMS[name], tabindex: "0", role: "note", "aria-describedby": described(name)})) element.setAttribute(key, value)
    return element
}

/** Return a term that explains itself. @type {(name: string, text?: string) => HTMLElement} */
export const term = (name, text = name) => explain(h("span", {"data-term": name}, text))

for (const each of document.querySelectorAll("[data-term]")) explain(/** @type {HTMLElement} */ (each))
