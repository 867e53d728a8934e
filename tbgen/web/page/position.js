// Positions as FENs, as far as needed to set up positions, and to make moves that the server has listed as legal. Men are
// letters, capitals for White's; described men are in brackets, such as [WD].

export const EMPTY = "8/8/8/8/8/8/8/8 w - - 0 1"
export const INITIAL = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
export const FILES = "abcdefgh"
/** Maximum number of men of a position that a table may hold. */
export const MOST_MEN = 5
/** A part of a row of a FEN: a number of empty squares, a man, or a described man in brackets. */
const CELL = /\[[^\]]*\]|./g

/** Return the parts of a FEN: `men` by square, `turn`, `castling`, `ep`, `clock`, `number`. @type {(fen: string) => Fen} */
export function parse(fen) {
    const [rows, turn = "w", castling = "-", ep = "-", clock = "0", number = "1"] = fen.trim().split(/[\s_]+/)
    const men = new Map()
    rows.split("/").forEach((row, index) => {
        let file = 0
        for (const cell of row.match(CELL) ?? []) {
            if (/^[1-8]$/.test(cell)) file += Number(cell)
            else men.set(FILES[file++] + (8 - index), cell)
        }
    })
    return {men, turn, castling, ep, clock: Number(clock) || 0, number: Number(number) || 1}
}

/** @type {(position: Fen) => string} */ export function format({men, turn, castling, ep, clock, number}) {
    const rows = []
    for (let rank = 8; rank >= 1; rank--) {
        const row = [...FILES].map(file => men.get(file + rank) ?? " ").join("")
        rows.push(row.replace(/ +/g, empty => String(empty.length)))
    }
    return [rows.join("/"), turn, castling, ep, clock, number].join(" ")
}

/** Whether the first field of a FEN has eight rows of eight squares. @type {(fen: string) => boolean} */
export function isBoard(fen) {
    const rows = fen.split(" ")[0].split("/")
    const squares = (/** @type {string} */ row) => row.match(CELL).reduce((/** @type {number} */ sum, cell) => sum + (Number(cell) || 1), 0)
    return rows.length === 8 && rows.every(row => /^([1-8kqrbnp]|\[[\w-]+\])+$/i.test(row) && squares(row) === 8)
}

/** Return the described men of a FEN, such as `[WD]`, each once. @type {(fen: string) => string[]} */
export const describedIn = fen => [...new Set(parse(fen).men.values())].filter(man => man.startsWith("["))

/** @type {(man: string) => boolean} */ export const isWhite = man => man !== man.toLowerCase()

/** Return the man in the other colour; an empty text stays empty. @type {(man: string) => string} */
export const recoloured = man => isWhite(man) ? man.toLowerCase() : man.toUpperCase()

/** @type {(fen: string) => Side} */ export const moverOf = fen => fen.split(" ")[1] === "w" ? "White" : "Black"

/** @type {(turn: string) => string} */ const otherTurn = turn => turn === "w" ? "b" : "w"

/** Return the six fields of a FEN, and the accrued score of a seventh. @type {(text: string) => Start} */
export function split(text) {
    const fields = text.trim().split(/[\s_]+/)
    return {fen: fields.slice(0, 6).join(" "), accrued: fields[6] ?? null}
}

/** Return the squares that a move in UCI's notation goes from and to. @type {(uci: string) => [string, string]} */
export const squaresOf = uci => [uci.slice(0, 2), uci.slice(2, 4)]

/** Return the position after a legal move. @type {(fen: string, uci: string) => string} */
export function after(fen, uci) {
    const position = parse(fen)
    const {men} = position
    const [from, to] = squaresOf(uci)
    const promoted = uci[4]
    const man = men.get(from)
    const zeroing = men.has(to) || man.toLowerCase() === "p"
    if (man.toLowerCase() === "p" && to === position.ep) men.delete(to[0] + from[1])
    men.delete(from)
    men.set(to, promoted ? (man === "P" ? promoted.toUpperCase() : promoted) : man)
    const double = man.toLowerCase() === "p" && Math.abs(Number(from[1]) - Number(to[1])) === 2
    return format({
        men,
        turn: otherTurn(position.turn),
        castling: position.castling,
        ep: double ? from[0] + (Number(from[1]) + Number(to[1])) / 2 : "-",
        clock: zeroing ? 0 : position.clock + 1,
        number: position.number + (position.turn === "b" ? 1 : 0),
    })
}

/** The squares of king and rook for each castling right. @type {Record<string, string[]>} */
const HOMES = {K: ["e1", "h1"], Q: ["e1", "a1"], k: ["e8", "h8"], q: ["e8", "a8"]}

/** Return the castling rights that the men allow, as letters of a FEN. @type {(position: Fen) => string[]} */
export const castlingsOf = ({men}) => Object.keys(HOMES).filter(right => HOMES[right].every((square, index) => men.get(square) === (isWhite(right) ? "KR" : "kr")[index]))

/** Return the squares that a pawn may just have passed, with a pawn beside it that may capture it there. @type {(position: Fen) => string[]} */
export function passedIn({men, turn}) {
    const [passing, capturing, from, over, to] = turn === "w" ? ["p", "P", 7, 6, 5] : ["P", "p", 2, 3, 4]
    const isPassed = (/** @type {string} */ file, /** @type {number} */ index) => men.get(`${file}${to}`) === passing && !men.has(`${file}${over}`)
        && !men.has(`${file}${from}`) && [index - 1, index + 1].some(beside => men.get(`${FILES[beside]}${to}`) === capturing)
    return [...FILES].filter(isPassed).map(file => `${file}${over}`)
}

/** Return a position with the men of `rows`, with the castling rights that they still allow, and with new counters. @type {(fen: string, rows: string) => string} */
export function withMen(fen, rows) {
    const [position, {turn, castling}] = [parse(rows), parse(fen)]
    const rights = castlingsOf(position).filter(right => castling.includes(right)).join("") || "-"
    return format({...position, turn, castling: rights, ep: "-", clock: 0, number: 1})
}

/** @type {(fen: string, turn: string) => string} */ export const withTurn = (fen, turn) => format({...parse(fen), turn, ep: "-"})

/** Return the position with a halfmove clock for which an accrued score counts. A clock of 0 would mean that the score has just been reset. @type {(fen: string) => string} */
export function withScore(fen) {
    const position = parse(fen)
    return format({...position, clock: Math.max(1, position.clock)})
}

/** Return the position with left and right exchanged. @type {(fen: string) => string} */
export function mirrored(fen) {
    const flip = (/** @type {string} */ square) => FILES[7 - FILES.indexOf(square[0])] + square[1]
    return moved(fen, flip, man => man, turn => turn)
}

/** Return the position with the colours exchanged. @type {(fen: string) => string} */
export function swapped(fen) {
    const flip = (/** @type {string} */ square) => square[0] + (9 - Number(square[1]))
    const castling = [...parse(fen).castling].map(recoloured).sort().join("")
    return moved(fen, flip, recoloured, otherTurn, castling)
}

/** @type {(fen: string, square: (square: string) => string, man: (man: string) => string, turn: (turn: string) => string, castling?: string) => string} */
function moved(fen, square, man, turn, castling = "-") {
    const position = parse(fen)
    const men = new Map([...position.men].map(([at, is]) => [square(at), man(is)]))
    const ep = position.ep === "-" ? "-" : square(position.ep)
    return format({...position, men, turn: turn(position.turn), castling, ep})
}

/** Return a sentence on the problem if a side does not have exactly one king; null if there is no problem. @type {(men: string[]) => string} */
export function kingProblem(men) {
    for (const [side, king] of [["White", "K"], ["Black", "k"]]) {
        const kings = men.filter(man => man === king).length
        if (kings !== 1) return `${side} has ${kings || "no"} king${kings > 1 ? "s" : ""}; each side needs exactly one`
    }
    return null
}

/** @type {(fen: string) => number} */ export const numberOfMen = fen => parse(fen).men.size

/** Return the label of the move after `depth` plies: "2.", "1..." for Black's move if `fresh`, else an empty text. @type {(fen: string, depth: number, fresh: boolean) => string} */
export function labelOf(fen, depth, fresh) {
    const {turn, number} = parse(fen)
    const half = depth + (turn === "w" ? 0 : 1)
    if (half % 2) return fresh ? `${number + (half >> 1)}...` : ""
    return `${number + (half >> 1)}.`
}

/** Return moves with their numbers: [["1...", "Kh5"], ["2.", "Kf4"], ["", "Kh6"]]. @type {(fen: string, sans: string[]) => string[][]} */
export const numbered = (fen, sans) => sans.map((san, index) => [labelOf(fen, index, index === 0), san])

/** Return moves with their numbers in a line: "1... Kh5 2. Kf4 Kh6". @type {(fen: string, sans: string[]) => string} */
export const lineText = (fen, sans) => numbered(fen, sans).map(([label, san]) => label ? `${label} ${san}` : san).join(" ")
