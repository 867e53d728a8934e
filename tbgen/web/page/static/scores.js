// Scores as numbers: White's of rank r is r, Black's is -1 - r; their low byte is the code in tables (docs/format.md).

import {Refused} from "../api.js"
import {pointsOf} from "../score.js"

/** The codes that stand for no score, as numbers. */
export const NONE = 127
export const FRESH = -128

export const rankOf = score => score < 0 ? ~score : score

export const isWhites = score => score >= 0

/** The lowest rank at which a game goes on: below are mate and stalemate. */
export const LEAST_RANK = 2

export const textOf = score => `${isWhites(score) ? "" : "-"}G${(rankOf(score) / 2).toFixed(1)}`

/** Return the score of a text such as "G3.5", "g3" or "-G2.0". */
export function scoreOf(text) {
    const [, minus, whole, half = "0"] = text.match(/^([-m\u2212\u2013])?[Gg](\d{1,3})(?:\.([05]))?$/) ?? []
    if (whole === undefined) throw new Refused(400, {code: "bad_input", message: `'${text}' is not a G-score: expected one such as G3.5 or -G3.5`})
    const rank = 2 * Number(whole) + (half === "5" ? 1 : 0)
    return minus ? ~rank : rank
}

/** Return a number that is the greater the better a score is for a side, 0 or 1. */
export function merit(score, side) {
    const value = score >= 0 ? 4096 - score : -4096 - score
    return side === 0 ? value : -value
}

/** Return what has accrued after a position's own score: of equal ones the first counts. */
export const fold = (accrued, own) => accrued === null || rankOf(own) < rankOf(accrued) ? own : accrued

const CATEGORIES = [["mate", "mated"], ["stalemate", "stalemated"], ["ahead", "behind"]]

/** Return what is said of a value where a side is to move. */
export const worthOf = ({value, depth}, side) => ({
    value: textOf(value), depth, points: pointsOf(textOf(value)),
    category: CATEGORIES[Math.min(rankOf(value), 2)][isWhites(value) === (side === 0) ? 0 : 1],
})
