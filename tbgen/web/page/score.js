// G-scores: their text, order and what they say in words.

const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]

/** What a lead in points comes to, by the least one of which it is said. */
const AMOUNTS = [[0.25, "clearly"], [0.06, "by a little"], [0, "by very little"]]

/** Return twice the number of a score: the rank of docs/glossary.md. */
export const rankOf = score => Math.round(2 * Number(score.replace(/^-?G/, "")))

export const isWhite = score => !score.startsWith("-")

export const sideOf = score => isWhite(score) ? "White" : "Black"

export const otherSide = side => side === "White" ? "Black" : "White"

export const plies = number => number === 1 ? "1 ply" : `${number} plies`

/** Return what a score leaves to its holder's opponent, such as "in check and down to one move". */
export function leaves(score) {
    const rank = rankOf(score)
    const number = rank >> 1
    const moves = `${NUMBERS[number] ?? number} ${number === 1 ? "move" : "moves"}`
    return rank % 2 ? `down to ${moves}` : `in check and down to ${moves}`
}

/** Return what a position's own score says of the side to move, such as "is in check and has one legal move". */
export function opponentHas(score) {
    const rank = rankOf(score)
    const number = rank >> 1
    const moves = `${NUMBERS[number] ?? number} legal ${number === 1 ? "move" : "moves"}`
    return rank % 2 ? `has ${moves}` : `is in check and has ${moves}`
}

export const moverOf = fen => fen.split(" ")[1] === "w" ? "White" : "Black"

/** Return where a score stands from -1, Black's best, to 1, White's best: the small scores far apart. */
export function height(score) {
    const share = 1 / (1 + rankOf(score) / 6)
    return isWhite(score) ? share : -share
}

/** Return the points of a score: each half step halves the lead. */
export function pointsOf(score) {
    const lead = 2 ** -rankOf(score) * (isWhite(score) ? 1 : -1)
    return {white: (1 + lead) / 2, black: (1 - lead) / 2}
}

/**
 * Return points as the commands print them, "0.5625-0.4375": White's with four digits, a half to even, and what they
 * leave of 1; with more digits where four would hide the better part.
 */
export function pointsText({white, black}) {
    const excess = Math.abs(white - black) / 2
    let digits = 4
    if (Math.round(excess * 10 ** digits) === 0) while (excess && excess * 10 ** digits < 10) digits++
    const whole = 10 ** digits
    const share = even(white * whole)
    return [share, whole - share].map(part => (part / whole).toFixed(digits)).join("-")
}

/** Round a number; a half to the even neighbour. */
const even = number => number % 2 === 0.5 ? Math.floor(number) : Math.round(number)

/** What is said where no table says a value: what has accrued is known all the same. */
export const unknown = accrued => `No table says what this is worth. ${accrued} has accrued so far.`

/** Return what best play comes to, in a sentence. */
export function sentence(answer) {
    const mover = moverOf(answer.fen)
    if (answer.view) return viewed(answer, mover)
    const {value, depth, accrued} = answer
    const holder = sideOf(value)
    const opponent = otherSide(holder)
    if (answer.checkmate) return `${mover} is mated.`
    if (answer.stalemate) return `${mover} is stalemated.`
    if (rankOf(value) === 0) return `${holder} mates${inPlies(depth)}.`
    if (rankOf(value) === 1) return `${holder} stalemates ${opponent}${inPlies(depth)}.`
    if (depth === 0 || value === accrued) {
        return `${holder} keeps ${value} and wins ${amount(answer.points)}: that has accrued, and best play leaves it at that${shares(answer.points)}.`
    }
    return `${holder} wins ${amount(answer.points)}: ${opponent} gets ${leaves(value)}${inPlies(depth)}${shares(answer.points)}.`
}

/** Return points as a sentence ends with them: with two digits or, where three are all, with three; nothing where both sides would have the same. */
function shares({white, black}) {
    const [ours, theirs] = [white, black].map(number => 1000 * number % 1 ? number.toFixed(2) : String(number))
    return ours === theirs ? "" : ` (${ours} : ${theirs})`
}

/** Return how much a result is won by, in words. */
export function amount({white, black}) {
    const lead = Math.abs(white - black)
    const [, words] = AMOUNTS.find(([least]) => lead >= least)
    return words
}

function viewed(answer, mover) {
    if (answer.checkmate) return `${mover} is mated.`
    if (answer.stalemate) return `${mover} is stalemated.`
    if (answer.winner === null) return "A draw with best play."
    const side = answer.winner === "white" ? "White" : "Black"
    const whole = answer.points[answer.winner] === 1
    return `${side} ${whole ? "wins" : "stalemates"}${inPlies(answer.depth)}.`
}

const inPlies = depth => depth === null ? "" : ` in ${plies(depth)}`

/** Return the value of an answer, short and large. */
export function headline(answer) {
    if (!answer.view) return answer.value
    return `${Number(answer.points.white)}-${Number(answer.points.black)}`
}
