// Chess positions: reading and writing FENs, legal moves and their positions, and SAN.
//
// A position has `men` (letters by square, a1 first, "" for none), `side` (to move: 0 White, 1 Black),
// `castling`, `ep` (the square that a pawn has just passed, or -1), `clock` and `number`.

import {badInput} from "../api.js"
import {kingProblem} from "../position.js"
import {pointsOf} from "../score.js"

const LINES = [[1, 0], [-1, 0], [0, 1], [0, -1]]
const DIAGONALS = [[1, 1], [1, -1], [-1, 1], [-1, -1]]
const LEAPS = [[1, 2], [2, 1], [2, -1], [1, -2], [-1, -2], [-2, -1], [-2, 1], [-1, 2]]
const SQUARES = Array.from({length: 64}, (_, square) => square)
const PROMOTIONS = ["q", "r", "b", "n"]
/** The castling rights lost by a move from or to a square. @type {Record<number, string>} */
const RIGHTS = {0: "Q", 4: "KQ", 7: "K", 56: "q", 60: "kq", 63: "k"}
/** The castling moves: right, squares of king and rook, and target of the king. @type {[string, number, number, number][]} */
const CASTLING = [["K", 4, 7, 6], ["Q", 4, 0, 2], ["k", 60, 63, 62], ["q", 60, 56, 58]]
const SIDES = ["White", "Black"]
/** Codes that stand for no score, as numbers. */
export const NONE = 127
export const FRESH = -128
/** The lowest rank of a score that does not end the game; lower ranks are mate and stalemate. */
export const LEAST_RANK = 2
const CATEGORIES = [["mate", "mated"], ["stalemate", "stalemated"], ["ahead", "behind"]]

/** @type {(square: number) => string} */ const nameOf = square => "abcdefgh"[square & 7] + (1 + (square >> 3))
/** @type {(name: string) => number} */ const squareOf = name => name.charCodeAt(0) - 97 + 8 * (Number(name[1]) - 1)
/** @type {(man: string) => number} */ const sideOf = man => man === man.toUpperCase() ? 0 : 1
/** @type {(side: number, kind: string) => string} */ const manOf = (side, kind) => side === 0 ? kind : kind.toLowerCase()

/** Return for each square the rays in some directions, near squares first. @type {(directions: number[][], reach: number) => number[][][]} */
const raysOf = (directions, reach) => SQUARES.map(from => directions.map(([across, up]) => {
    const ray = []
    for (let [file, rank] = [(from & 7) + across, (from >> 3) + up]; ray.length < reach && file >= 0 && file < 8 && rank >= 0 && rank < 8; file += across, rank += up) ray.push(file + 8 * rank)
    return ray
}))

/** @type {Record<string, number[][][]>} */ const RAYS = {
    K: raysOf([...LINES, ...DIAGONALS], 1), Q: raysOf([...LINES, ...DIAGONALS], 7), R: raysOf(LINES, 7),
    B: raysOf(DIAGONALS, 7), N: raysOf(LEAPS, 1),
}
/** The squares on which pawns capture, by side and square. */
const CAPTURES = [1, -1].map(up => raysOf([[-1, up], [1, up]], 1).map(rays => rays.flat()))

/** Whether a side attacks a square. @type {(men: string[], square: number, by: number) => boolean} */
function attacked(men, square, by) {
    if (CAPTURES[1 - by][square].some(from => men[from] === manOf(by, "P"))) return true
    return Object.entries(RAYS).some(([kind, rays]) => {
        const man = manOf(by, kind)
        return men.includes(man) && rays[square].some(ray => men[ray.find(each => men[each])] === man)
    })
}

/** @type {(men: string[], side: number) => number} */ const kingOf = (men, side) => men.indexOf(manOf(side, "K"))

/** @type {(position: Position, side: number) => boolean} */
const inCheck = ({men}, side) => attacked(men, kingOf(men, side), 1 - side)

/** Yield pseudo-legal moves: `from`, `to` and `promotion`, and `rook` for castling. @type {(position: Position) => Generator<PseudoMove>} */
function* pseudoMoves({men, side, ep, castling}) {
    const them = (/** @type {number} */ square) => men[square] && sideOf(men[square]) !== side
    for (const from of SQUARES) {
        if (!men[from] || sideOf(men[from]) !== side) continue
        const kind = men[from].toUpperCase()
        if (kind === "P") {
            const up = side === 0 ? 8 : -8
            const targets = CAPTURES[side][from].filter(to => them(to) || to === ep)
            if (!men[from + up]) {
                targets.push(from + up)
                if (from >> 3 === (side === 0 ? 1 : 6) && !men[from + 2 * up]) targets.push(from + 2 * up)
            }
            for (const to of targets) {
                const last = to >> 3 === (side === 0 ? 7 : 0)
                for (const promotion of last ? PROMOTIONS : [""]) yield {from, to, promotion}
            }
            continue
        }
        for (const ray of RAYS[kind][from]) {
            for (const to of ray) {
                if (!men[to] || them(to)) yield {from, to, promotion: ""}
                if (men[to]) break
            }
        }
    }
    for (const [right, king, rook, to] of CASTLING) {
        if (!castling.includes(right) || sideOf(right) !== side) continue
        const [low, high] = [Math.min(king, rook), Math.max(king, rook)]
        const passed = [king, (king + to) / 2]
        if (SQUARES.slice(low + 1, high).every(square => !men[square]) && passed.every(square => !attacked(men, square, 1 - side))) {
            yield {from: king, to, promotion: "", rook}
        }
    }
}

/** Return the position after a move. @type {(position: Position, move: PseudoMove) => Position} */
function positionAfter({men: before, side, castling, ep, clock, number}, {from, to, promotion, rook}) {
    const men = [...before]
    const isPawn = men[from].toUpperCase() === "P"
    const zeroing = isPawn || men[to] !== ""
    if (isPawn && to === ep) men[(from & 56) + (to & 7)] = ""
    men[to] = promotion ? manOf(side, promotion.toUpperCase()) : men[from]
    men[from] = ""
    if (rook !== undefined) {
        men[(from + to) / 2] = men[rook]
        men[rook] = ""
    }
    const lost = (RIGHTS[from] ?? "") + (RIGHTS[to] ?? "")
    return {
        men, side: 1 - side, castling: [...castling].filter(right => !lost.includes(right)).join(""),
        ep: isPawn && Math.abs(to - from) === 16 ? (from + to) / 2 : -1,
        clock: zeroing ? 0 : clock + 1, number: number + side,
    }
}

/**
 * Return a position with its legal `moves`, whether the side to move is in `check`, whether an en passant capture
 * is legal (`passing`), whether the game is `over`, and its `positionScore` (see below).
 *
 * A move has `uci`, `kind`, `from`, `to`, `promotion`, `capture`, `zeroing`, and the position `next` after it.
 * @type {(position: Position) => Studied}
 */
export function studied(position) {
    const {men, side, ep} = position
    const moves = []
    for (const each of pseudoMoves(position)) {
        const next = positionAfter(position, each)
        if (inCheck(next, side)) continue
        const kind = men[each.from].toUpperCase()
        const passing = kind === "P" && each.to === ep
        const capture = men[each.to] !== "" || passing
        moves.push({
            ...each, kind, next, capture, passing, zeroing: capture || kind === "P",
            uci: nameOf(each.from) + nameOf(each.to) + each.promotion,
        })
    }
    const check = inCheck(position, side)
    const rank = 2 * moves.length + (check ? 0 : 1)
    return {...position, moves, check, passing: moves.some(move => move.passing), over: !moves.length, positionScore: side === 0 ? ~rank : rank}
}

/** Return a move in short algebraic notation, without the mark of a check. @type {(position: Studied, move: StudiedMove) => string} */
export function sanOf({moves}, {uci, kind, from, to, promotion, capture, rook}) {
    if (rook !== undefined) return to > from ? "O-O" : "O-O-O"
    const target = (capture ? "x" : "") + nameOf(to)
    if (kind === "P") return (capture ? uci[0] : "") + target + (promotion ? `=${promotion.toUpperCase()}` : "")
    const others = moves.filter(move => move.kind === kind && move.to === to && move.from !== from).map(move => move.from)
    const start = !others.length ? "" : others.every(each => (each ^ from) & 7) ? uci[0] : others.every(each => (each ^ from) & 56) ? uci[1] : uci.slice(0, 2)
    return kind + start + target
}

/** Return the check mark of the move that has led to a position. @type {(position: Studied) => string} */
export const checkMark = ({check, over}) => check ? (over ? "#" : "+") : ""

/** Return the FEN of a studied position. It has an en passant square only if the capture is legal. @type {(position: Studied) => string} */
export function fenOf({men, side, castling, ep, clock, number, passing}) {
    const rows = [7, 6, 5, 4, 3, 2, 1, 0].map(rank => men.slice(8 * rank, 8 * rank + 8).map(man => man || " ").join("").replace(/ +/g, empty => String(empty.length)))
    return [rows.join("/"), "wb"[side], castling || "-", passing ? nameOf(ep) : "-", clock, number].join(" ")
}

/** Whether neither side could mate by any sequence of legal moves. @type {(position: Position) => boolean} */
export const isInsufficient = ({men}) => [0, 1].every(side => {
    const all = SQUARES.filter(square => men[square])
    const kinds = all.filter(square => sideOf(men[square]) === side).map(square => men[square].toUpperCase())
    const others = all.filter(square => sideOf(men[square]) !== side).map(square => men[square].toUpperCase())
    if (/[QRP]/.test(kinds.join(""))) return false
    if (kinds.includes("N")) return kinds.length <= 2 && others.every(kind => "KQ".includes(kind))
    if (!kinds.includes("B")) return true
    const colours = new Set(all.filter(square => men[square].toUpperCase() === "B").map(square => (square + (square >> 3)) & 1))
    return colours.size === 1 && !/[PN]/i.test(men.join(""))
})

/** Return the position of a FEN, and its seventh field. @type {(text: string) => {position: Position, seventh: string}} */
export function readFen(text) {
    const wrong = (/** @type {string} */ reason) => badInput(`'${text}' is not a FEN: ${reason}`)
    const [rows, turn, castling = "-", ep = "-", clock = "0", number = "1", seventh = null, ...more] = text.trim().split(/[\s_]+/)
    const men = rows.split("/").reverse().flatMap(row => [...row.replace(/[1-8]/g, empty => " ".repeat(Number(empty)))]).map(man => man.trim())
    const whole = rows.split("/").every(row => row.replace(/[1-8]/g, empty => " ".repeat(Number(empty))).length === 8)
    if (rows.split("/").length !== 8 || !whole || !men.every(man => "KQRBNPkqrbnp".includes(man))) throw wrong("expected eight rows of eight squares with the men of chess")
    if (!["w", "b"].includes(turn)) throw wrong("expected w or b for the side to move")
    if (!/^(-|K?Q?k?q?)$/.test(castling)) throw wrong("expected castling rights such as KQkq, or -")
    if (!/^(-|[a-h][1-8])$/.test(ep)) throw wrong("expected an en passant square such as e3, or -")
    if (!/^\d{1,9}$/.test(clock) || !/^\d{1,9}$/.test(number) || more.length) throw wrong("expected halfmove clock, move number and accrued score at its end")
    const position = {
        men, side: "wb".indexOf(turn), castling: castling.replace("-", ""), ep: ep === "-" ? -1 : squareOf(ep),
        clock: Number(clock), number: Number(number) || 1,
    }
    return {position, seventh}
}

/** Check that a position is valid; throw a refusal if it is not. @type {(position: Position) => void} */
export function validate(position) {
    const {men, side, castling, ep} = position
    const lacked = kingProblem(men)
    if (lacked) throw badInput(lacked)
    if (SQUARES.some(square => "Pp".includes(men[square] || "-") && (square < 8 || square > 55))) throw badInput("a pawn stands on the first or last rank")
    if (inCheck(position, 1 - side)) {
        const near = RAYS.K[kingOf(men, 0)].some(([square]) => square === kingOf(men, 1))
        throw badInput(near ? "the kings stand next to each other" : `${SIDES[1 - side]} is in check although ${SIDES[side]} is to move`)
    }
    const rights = CASTLING.filter(([right, king, rook]) => men[king] === manOf(sideOf(right), "K") && men[rook] === manOf(sideOf(right), "R"))
    if ([...castling].some(right => !rights.some(([each]) => each === right))) throw badInput("there are castling rights without king and rook in their places")
    if (ep >= 0) {
        const back = side === 0 ? -8 : 8
        const passed = ep >> 3 === (side === 0 ? 5 : 2) && !men[ep] && !men[ep - back] && men[ep + back] === manOf(1 - side, "P")
        if (!passed) throw badInput(`no pawn can just have passed ${nameOf(ep)}: write - for the en passant square`)
    }
}

/** @type {(position: Position) => number} */ export const numberOfMen = ({men}) => men.filter(Boolean).length

// Scores as numbers: White's score of rank r is r, Black's is -1 - r; the low byte is the code in tables (docs/format.md).

/** @type {(score: number) => number} */ export const rankOf = score => score < 0 ? ~score : score

/** @type {(score: number) => boolean} */ export const isWhites = score => score >= 0

/** @type {(score: number) => string} */
export const textOf = score => `${isWhites(score) ? "" : "-"}G${(rankOf(score) / 2).toFixed(1)}`

/** Return the score of a text such as "G3.5", "g3" or "-G2.0". @type {(text: string) => number} */
export function scoreOf(text) {
    const [, minus, whole, half = "0"] = text.match(/^([-m\u2212\u2013])?[Gg](\d{1,3})(?:\.([05]))?$/) ?? []
    if (whole === undefined) throw badInput(`'${text}' is not a G-score: expected a score such as G3.5 or -G3.5`)
    const rank = 2 * Number(whole) + (half === "5" ? 1 : 0)
    return minus ? ~rank : rank
}

/** Return a number that orders scores by their merit for a side, 0 or 1; better scores have greater numbers. @type {(score: number, side: number) => number} */
export function merit(score, side) {
    const value = score >= 0 ? 4096 - score : -4096 - score
    return side === 0 ? value : -value
}

/** Return the accrued score after folding in a position score; of equal ranks the earlier score counts. @type {(accrued: number, positionScore: number) => number} */
export const fold = (accrued, positionScore) => accrued === null || rankOf(positionScore) < rankOf(accrued) ? positionScore : accrued

/** Return the fields of an answer for a value and the side to move. @type {(goal: Goal, side: number) => Omit<StateDocument, "fen" | "accrued">} */
export const worthOf = ({value, depth}, side) => ({
    value: textOf(value), depth, points: pointsOf(textOf(value)),
    category: CATEGORIES[Math.min(rankOf(value), 2)][isWhites(value) === (side === 0) ? 0 : 1],
})
