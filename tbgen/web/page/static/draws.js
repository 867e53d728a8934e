// Random positions: samples, puzzles and challenges, as docs/web.md describes them. The positions of one draw lie in one
// piece of a table, so that few pieces are loaded. Draws determined by a text equal those of web/puzzles.py.

/** @typedef {import("./tables.js").Table} Table */

import {Refused, badInput} from "../api.js"
import {recoloured} from "../position.js"
import {NONE, fenOf, isWhites, rankOf, readFen, scoreOf, studied, textOf} from "./chess.js"
import {answer} from "./positions.js"
import {canonical, list, tableOf} from "./tables.js"

const MAX_RANK = 12
const PUZZLE_PLIES = [3, 15]
/** @type {Record<string, number[]>} */ const CHALLENGE_PLIES = {easy: [3, 8], medium: [9, 20], hard: [21, Infinity]}
/** Maximum number of tempting wrong moves in a puzzle, by level. @type {Record<string, number>} */
const MAX_TEMPTING = {easy: 1, medium: 4, hard: Infinity}
const MAX_DRAWS = 60
const POSITIONS_PER_PIECE = 8
const PARALLEL_PIECES = 8

/** @type {(message: string) => Refused} */ const none = message => new Refused(404, {code: "no_position", message})

/** Return a function that draws pseudo-random numbers from 0 to 1 determined by a text, with FNV-1a and Mulberry32. @type {(text: string) => () => number} */
function drawnBy(text) {
    let state = [...text].reduce((sum, letter) => Math.imul(sum ^ letter.charCodeAt(0), 0x01000193), 0x811c9dc5)
    return () => {
        state = state + 0x6d2b79f5 | 0
        let mixed = Math.imul(state ^ state >>> 15, 1 | state)
        mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed
        return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32
    }
}

/** @type {(most: number, random: () => number) => number} */ const number = (most, random) => Math.floor(random() * most)
/** @type {<Each>(from: Each[], random: () => number) => Each} */ const any = (from, random) => from[number(from.length, random)]

/** @type {<Each>(of: Each[], random: () => number) => Each[]} */ function shuffled(of, random) {
    const found = [...of]
    for (let last = found.length - 1; last > 0; last--) {
        const at = number(last + 1, random)
        ;[found[last], found[at]] = [found[at], found[last]]
    }
    return found
}

/** Return the canonical name of a material from any of its spellings. @type {(text: string) => string} */
function named(text) {
    const sides = text.toUpperCase().split(/V|(?<=^K[^V]*)(?=K)/) // without a v, each side begins with its king
    if (sides.length !== 2 || !sides.every(side => /^[QRBNP]*K[QRBNP]*$/.test(side))) throw badInput(`'${text}' is not a material name: expected a name such as KBNvK`)
    return canonical(sides).material
}

/** Return the position of a slot as a FEN, with colours exchanged if `swapped`. @type {(table: Table, side: number, slot: number, swapped: boolean) => Promise<string>} */
async function fenOfSlot(table, side, slot, swapped) {
    const men = await table.menOf(slot)
    const turned = swapped ? men.map((_, index) => men[index ^ 56]).map(recoloured) : men
    return fenOf(studied({men: turned, side: swapped ? 1 - side : side, castling: "", ep: -1, clock: 0, number: 1}))
}

/** Return the slots of one piece of a table whose fresh values are wanted. @type {(table: Table, side: number, piece: number, isWanted: (score: number) => boolean) => Promise<number[]>} */
async function wantedSlots(table, side, piece, isWanted) {
    const {length, pieces_per_row: perRow} = table.facts.datasets.value
    const codes = await table.file.piece("value", side * perRow + piece)
    const found = /** @type {number[]} */ ([])
    codes.forEach((code, index) => {
        const slot = piece * length + index
        if (slot < table.facts.size && code !== NONE && isWanted(code << 24 >> 24)) found.push(slot)
    })
    return found
}

/** Return the depths of slots in ascending order; one piece at a time, since awaiting each depth would keep the page busy. @type {(table: Table, side: number, slots: number[]) => Promise<number[]>} */
async function depthsOf(table, side, slots) {
    const found = /** @type {number[]} */ ([])
    while (found.length < slots.length) {
        const first = slots[found.length]
        const [depths, at] = await table.file.pieceOf("depth", side, first)
        while (found.length < slots.length && slots[found.length] - first + at < depths.length) found.push(depths[slots[found.length] - first + at])
    }
    return found
}

/** @type {(rules: string, least: number) => Promise<string[]>} */
const materialsOf = async (rules, least) => (await list()).filter(each => each.rules === rules && each.material.length - 1 >= least).map(each => each.material).sort()

/** Return a random position of a table, or of any table that has such positions. @type {(question: Question, rules: string) => Promise<PositionMovesDocument>} */
export async function sample({material, value, side}, rules) {
    if (side && !["white", "black"].includes(side)) throw badInput(`'${side}' is not a side: expected white or black`)
    const wanted = value ? scoreOf(value) : null
    const names = material ? [named(material)] : shuffled(await materialsOf(rules, 0), Math.random)
    for (const name of names) {
        const table = await tableOf(name, rules)
        const {values, datasets} = table.facts
        const sides = /** @type {Colour[]} */ (["white", "black"]).filter(each => (!side || side === each) && (wanted === null ? Object.keys(values[each]).length : values[each][textOf(wanted)]))
        const perRow = datasets.value.pieces_per_row
        const places = shuffled(sides.flatMap(each => Array.from({length: perRow}, (_, piece) => ({mover: each === "white" ? 0 : 1, piece}))), Math.random)
        while (places.length) {
            const found = await Promise.all(places.splice(0, PARALLEL_PIECES).map(async ({mover, piece}) =>
                (await wantedSlots(table, mover, piece, score => wanted === null || score === wanted)).map(slot => ({mover, slot}))))
            if (!found.flat().length) continue
            const {mover, slot} = any(found.flat(), Math.random)
            return await answer({fen: await fenOfSlot(table, mover, slot, false)}, rules)
        }
    }
    throw none(material ? `no such position of ${names[0]} was found: there is none, or it is rare` : "no table here has such a position")
}

/** Yield FENs of positions whose value belongs to the side to move, with an allowed rank and depth. @type {(rules: string, material: string, plies: number[], random: () => number) => AsyncGenerator<string>} */
async function* drawnFens(rules, material, [least, most], random) {
    const names = material ? [named(material)] : await materialsOf(rules, 3)
    for (let draw = 0; names.length && draw < MAX_DRAWS; draw++) {
        const table = await tableOf(any(names, random), rules)
        const side = number(2, random)
        const piece = number(table.facts.datasets.value.pieces_per_row, random)
        const slots = await wantedSlots(table, side, piece, score => isWhites(score) === (side === 0) && rankOf(score) <= MAX_RANK)
        const depths = await depthsOf(table, side, slots)
        const fit = slots.filter((_, index) => depths[index] >= least && depths[index] <= most)
        for (const slot of shuffled(fit, random).slice(0, POSITIONS_PER_PIECE)) yield await fenOfSlot(table, side, slot, random() < 0.5)
    }
}

/** @type {(level: string) => string} */ function levelOf(level) {
    if (level && !(level in CHALLENGE_PLIES)) throw badInput(`'${level}' is not a level: expected easy, medium, hard`)
    return level || null
}

/** Return a random position whose side to move has a score to win. @type {(question: Question, rules: string) => Promise<PositionMovesDocument>} */
export async function challenge({level, material}, rules) {
    const plies = CHALLENGE_PLIES[levelOf(level) ?? any(Object.keys(CHALLENGE_PLIES), Math.random)]
    for await (const fen of drawnFens(rules, material, plies, Math.random)) return await answer({fen}, rules)
    throw none("no position to play was found: try another level, or another material")
}

/** Return a random position with exactly one move that keeps the value, and its tempting wrong moves. @type {(question: Question, rules: string) => Promise<PuzzleDocument>} */
export async function puzzle({level, material, day}, rules) {
    const wanted = levelOf(level)
    const random = day ? drawnBy(`${day} ${rules} ${wanted ?? ""} ${material ? named(material) : ""}`) : Math.random
    for await (const fen of drawnFens(rules, material, PUZZLE_PLIES, random)) {
        const found = await answer({fen}, rules)
        const [right, ...wrong] = found.moves
        const {position} = readFen(fen)
        const {moves} = studied(position)
        const captures = (/** @type {Move} */ {uci}) => moves.find(move => move.uci === uci).capture
        if (!wrong.length || wrong[0].value === right.value || captures(right)) continue
        const leaves = (/** @type {Move} */ {uci}) => rankOf(studied(moves.find(move => move.uci === uci).next).positionScore)
        const tempting = wrong.filter(move => leaves(move) <= leaves(right) || captures(move)).map(move => move.uci)
        const hard = Object.keys(MAX_TEMPTING).find(each => tempting.length <= MAX_TEMPTING[each])
        if (!wanted || wanted === hard) return {...found, level: hard, tempting}
    }
    throw none("no puzzle was found: try another level, or another material")
}
