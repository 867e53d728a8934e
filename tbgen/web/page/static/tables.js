// The tables of a site: their list, the slots of positions, and the data of a slot, read in pieces by range requests. Each
// step described in docs/format.md is a function here. docs/publishing.md describes the list of pieces.

import {Refused, cached} from "../api.js"
import {TAB, h, store, stored} from "../browser.js"
import {recoloured} from "../position.js"
import {FRESH, NONE, fold, rankOf} from "./chess.js"

const FOLDER = "tables/"
const ORDER = "KQRBNP"
const TRIANGLE = [0, 1, 2, 3, 9, 10, 11, 18, 19, 27]
const BLOCK = 4096
const LAST_RUN = 128
const MAX_CACHED_PIECES = 2000
/** Size of the checksum that HDF5 appends to a packed piece. It is ignored, because zlib has its own checksum. */
const CHECKSUM_BYTES = 4
/** Minimum size in bytes of a file whose loading needs a notice. */
const LARGE_BYTES = 1e6
/** The storage key that prevents a second notice. */
const NOTICE_KEY = "tbgen-whole-files"
const TYPES = {u1: Uint8Array, u2: Uint16Array, i4: Int32Array, u8: BigUint64Array}

/** @type {(square: number) => number} */ const transposed = square => (square & 7) << 3 | square >> 3
/** The symmetries of the board; those of positions with pawns come first. @type {((square: number) => number)[]} */
const SYMMETRIES = [0, 7, 56, 63].flatMap(turn => [square => square ^ turn, square => transposed(square ^ turn)])
const WITH_PAWNS = [SYMMETRIES[0], SYMMETRIES[2]]

/** The list of all tables, under an empty key. @type {Map<string, Promise<TableFacts[]>>} */
const listed = new Map()
/** Open tables by their names. @type {Map<string, Promise<Table>>} */
const opened = new Map()

/** Return the list of the site's tables. @type {() => Promise<TableFacts[]>} */
export const list = () => cached(listed, "", () => readJson(`${FOLDER}tbgen-set.json`).then(({tables}) => tables))

/** Return a sentence on the site's tables. Unlike a server's, it names no command that builds more tables. */
export const stock = async () => `this site has tables of up to ${Math.max(...(await list()).map(each => each.material.length - 1))} men`

/** Return the table of a material, whose name is canonical. @type {(material: string, rules: string) => Promise<Table>} */
export async function tableOf(material, rules) {
    if (!(await list()).some(each => each.material === material && each.rules === rules)) {
        throw new Refused(404, {code: "missing_table", message: `table ${material} is not here: ${await stock()}`})
    }
    const key = `${material}.${rules}`
    return await cached(opened, key, () => readJson(`${FOLDER}${key}.json`).then(facts => new Table(facts)))
}

/** Return the canonical name of the material of two sides, and whether its colours are exchanged. @type {(sides: string[]) => {material: string, swapped: boolean}} */
export function canonical(sides) {
    const inOrder = sides.map(side => [...side].sort((one, two) => ORDER.indexOf(one) - ORDER.indexOf(two)).join(""))
    const rank = (/** @type {string} */ side) => [...side].map(man => ORDER.indexOf(man)).join("")
    const [white, black] = inOrder
    const swapped = white.length !== black.length ? white.length < black.length : rank(black) < rank(white)
    return {material: (swapped ? [black, white] : inOrder).join("v"), swapped}
}

/** Return the canonical name of a position's material, and whether its colours are exchanged. @type {(position: {men: string[]}) => {material: string, swapped: boolean}} */
export const materialOf = ({men}) => canonical([men, men.map(recoloured)].map(side => side.filter(man => man && man === man.toUpperCase()).join("")))

export class Table {
    /** @param {TableFacts} facts */ constructor(facts) {
        this.facts = facts
        this.free = facts.free_men.split(" ")
        this.pawns = facts.pawns.split(" ").filter(Boolean)
        this.file = new File(`${FOLDER}${facts.material}.${facts.rules}.h5`, facts)
    }

    /** Return the indices of pawn placements by their squares. */
    async placements() {
        if (!this.rows) {
            const squares = await this.file.piece("placements", 0)
            const count = this.pawns.length
            this.rows = new Map(Array.from({length: squares.length / count}, (_, row) => [String([...squares.slice(row * count, row * count + count)]), row]))
        }
        return this.rows
    }

    /** Return the squares of men under a symmetry, in the order of the table; like men are in ascending order of squares. @type {(men: string[], order: string[], symmetry: (square: number) => number) => number[]} */
    image(men, order, symmetry) {
        return [...new Set(order)].flatMap(man => men.flatMap((each, square) => each === man ? [symmetry(square)] : []).sort((one, two) => one - two))
    }

    /** Return the slot of men with the table's colours, and the symmetry that maps their pawns to its placement. @type {(men: string[]) => Promise<Slot>} */
    async slotOf(men) {
        const king = (/** @type {number} */ square) => this.pawns.length ? square : TRIANGLE.indexOf(square)
        const rows = this.pawns.length ? await this.placements() : null
        let found = null
        for (const symmetry of rows ? WITH_PAWNS : SYMMETRIES) {
            const squares = this.image(men, this.free, symmetry)
            const phase = rows ? rows.get(String(this.image(men, this.pawns, symmetry))) : 0
            if (phase === undefined || king(squares[0]) < 0) continue
            const within = squares.slice(1).reduce((sum, square) => 64 * sum + square, king(squares[0]))
            const slot = phase * this.facts.phase_size + within
            if (!found || slot < found.slot) found = {slot, phase, within, symmetry}
        }
        return found
    }

    /** Return the men of a slot; null if two men are on one square. @type {(slot: number) => Promise<string[]>} */
    async menOf(slot) {
        const phase = Math.floor(slot / this.facts.phase_size)
        let rest = slot % this.facts.phase_size
        const squares = []
        for (let man = this.free.length - 1; man > 0; man--) {
            squares.unshift(rest % 64)
            rest = Math.floor(rest / 64)
        }
        squares.unshift(this.pawns.length ? rest : TRIANGLE[rest])
        if (this.pawns.length) squares.push(...[...(await this.placements()).keys()][phase].split(",").map(Number))
        const men = Array(64).fill("")
        squares.forEach((square, index) => { men[square] = [...this.free, ...this.pawns][index] })
        return new Set(squares).size < squares.length ? null : men
    }

    /** Return the location of a position's fresh value: datasets, row and index; `ep` is the en passant square, or -1. @type {(place: Slot, side: number, ep: number) => Promise<{value: string, depth: string, row: number, at: number}>} */
    async freshPlace({slot, phase, within, symmetry}, side, ep) {
        if (ep < 0) return {value: "value", depth: "depth", row: side, at: slot}
        const config = await this.file.piece("ep/config", 0)
        for (let row = 0; row < config.length / 2; row++) {
            if (config[2 * row] === phase && config[2 * row + 1] === symmetry(ep)) return {value: "ep/value", depth: "ep/depth", row, at: within}
        }
        throw new Refused(500, {code: "damaged_table", message: `the table ${this.facts.material} lacks an en passant capture`})
    }

    /**
     * Return value and depth of a position with an en passant square, or -1, and an accrued score; the depth is null if the
     * value is not the wanted one.
     * @type {(men: string[], side: number, ep: number, positionScore: number, accrued: number, wanted: number) => Promise<Goal>}
     */
    async look(men, side, ep, positionScore, accrued, wanted) {
        const place = await this.slotOf(men)
        const {value, depth, row, at} = await this.freshPlace(place, side, ep)
        const code = await this.file.item(value, row, at)
        if (code === NONE) throw new Refused(500, {code: "damaged_table", message: `the table ${this.facts.material} has no value for a legal position`})
        const score = code << 24 >> 24
        const fresh = async () => ({value: score, depth: wanted === null || score === wanted ? await this.file.item(depth, row, at) : null})
        const resets = this.facts.rules === "r"
        if (rankOf(accrued) > rankOf(score) || (resets && accrued === positionScore)) return await fresh()
        return resets ? await this.accrued(side, place.slot, accrued, fresh) : {value: accrued, depth: 0}
    }

    /** @type {(side: number, slot: number, accrued: number, fresh: () => Promise<Goal>) => Promise<Goal>} */
    async accrued(side, slot, accrued, fresh) {
        const same = {value: accrued, depth: 0}
        const row = (accrued < 0 ? 2 : 0) + side
        const [bits, at] = await this.file.pieceOf("accrued/mask", row, slot >> 3)
        if (!(bits[at] >> (slot & 7) & 1)) return same
        let skipped = numberOfOnes(bits[at] & (1 << (slot & 7)) - 1)
        for (const byte of bits.subarray(at - (slot % BLOCK >> 3), at)) skipped += numberOfOnes(byte)
        let run = await this.file.item("accrued/start", row, Math.floor(slot / BLOCK))
        let found = -1
        let [ranks, place] = await this.file.pieceOf("accrued/rank", 0, run)
        for (;; run++, place++) {
            if (place === ranks.length) [ranks, place] = await this.file.pieceOf("accrued/rank", 0, run)
            const last = ranks[place] >= LAST_RUN
            if (skipped) {
                skipped -= last ? 1 : 0
                continue
            }
            if (ranks[place] % LAST_RUN > rankOf(accrued)) break
            found = run
            if (last) break
        }
        const code = found < 0 ? NONE : await this.file.item("accrued/value", 0, found) << 24 >> 24
        if (code === NONE) return same
        return code === FRESH ? await fresh() : {value: code, depth: await this.file.item("accrued/depth", 0, found)}
    }
}

/** @type {(byte: number) => number} */ const numberOfOnes = byte => [1, 2, 4, 8, 16, 32, 64, 128].filter(bit => byte & bit).length

/** Return the accrued score at a studied position, with the position score folded in; null stands for no earlier score. @type {(position: Studied, earlier: number, rules: string) => number} */
export const accruedAt = ({positionScore, over, passing}, earlier, rules) => over || (passing && rules === "r") ? positionScore : fold(earlier, positionScore)

/** Return value and depth of a studied position with an accrued score; the depth is null if the value is not the wanted one. @type {(position: Studied, accrued: number, rules: string, wanted?: number) => Promise<Goal>} */
export async function goalOf({men, side, ep, positionScore, over, passing}, accrued, rules, wanted = null) {
    if (over) return {value: positionScore, depth: 0}
    const {material, swapped} = materialOf({men})
    const table = await tableOf(material, rules)
    if (!swapped) return await table.look(men, side, passing ? ep : -1, positionScore, accrued, wanted)
    const turned = men.map((_, index) => men[index ^ 56]).map(recoloured)
    const {value, depth} = await table.look(turned, 1 - side, passing ? ep ^ 56 : -1, ~positionScore, ~accrued, wanted === null ? null : ~wanted)
    return {value: ~value, depth}
}

// Files of the host, complete or in pieces, unpacked and cached.

/** @type {(name: string) => Refused} */
const damaged = name => new Refused(500, {code: "damaged_table", message: `the file ${name} on this site cannot be used: reload the page, and if that does not help, tell its owner`})

/** Request a file, or a range of it, uncached: browsers would queue cacheable requests for ranges of one file. @type {(name: string, range?: string) => Promise<Response>} */
async function requestFile(name, range = null) {
    /** @type {RequestInit} */ const options = range ? {headers: {Range: `bytes=${range}`}, cache: "no-store"} : {}
    const response = await fetch(name, options).catch(() => /** @type {Response} */ (null))
    if (response?.ok) return response
    throw new Refused(response?.status ?? 0, {code: "unreachable", message: `The host does not serve ${name}: try again later.`})
}

/** Return the content of a JSON file. @type {<Found>(name: string) => Promise<Found>} */
export const readJson = async name => (await requestFile(name)).json()

/** Under an empty key, whether the host answers range requests. If it does not, complete files by their names. */
const host = new Map()

/** @type {(name: string) => Promise<boolean>} */ async function servesRanges(name) {
    const response = await requestFile(name, "0-0")
    response.body?.cancel()
    return response.status === 206
}

/** Show once a notice that explains why loading takes a while. @type {(size: number) => void} */
function showNotice(size) {
    if (size < LARGE_BYTES || stored(NOTICE_KEY, TAB)) return
    store(NOTICE_KEY, true, TAB)
    const text = `The host of this site serves tables only as complete files, this one of ${(size / 1e6).toFixed(1)} MB: some positions take a while to load.`
    const notice = h("div", {popover: "manual", role: "status"}, text, " ", h("button", {type: "button", onclick: () => { notice.remove() }}, "OK"))
    document.body.append(notice)
    notice.showPopover?.() // browsers without it have the notice at the end of the page
}

/** Return some bytes of a file whose size is `size`. @type {(name: string, size: number, at: number, count: number) => Promise<ArrayBuffer>} */
async function readBytes(name, size, at, count) {
    if (await cached(host, "", () => servesRanges(name))) {
        const response = await requestFile(name, `${at}-${at + count - 1}`)
        const told = response.headers.get("Content-Range")
        if (response.status !== 206 || (told && !told.endsWith(`/${size}`))) throw damaged(name)
        return await response.arrayBuffer()
    }
    const file = await cached(host, name, () => {
        showNotice(size)
        return requestFile(name).then(response => response.arrayBuffer())
    })
    if (file.byteLength !== size) throw damaged(name)
    return file.slice(at, at + count)
}

/** Decoded pieces by file, dataset and number. The least recently used piece is dropped first. @type {Map<string, Promise<Piece>>} */
const pieces = new Map()

/** @type {(name: string, size: number, place: number[], type: Dataset["type"]) => Promise<Piece>} */
async function readPiece(name, size, [at, count], type) {
    try {
        const packed = (await readBytes(name, size, at, count)).slice(0, count - CHECKSUM_BYTES)
        const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))
        return /** @type {Piece} */ (new TYPES[type](await new Response(stream).arrayBuffer()))
    } catch (error) {
        throw error instanceof TypeError ? damaged(name) : error // the piece does not unpack
    }
}

/** The datasets of one file. */
class File {
    /**
     * @param {string} name name of the file
     * @param {Pick<TableFacts, "bytes" | "datasets">} listed its `bytes`, and its `datasets`: type, elements of a piece, pieces of a row,
     *     and the locations of the pieces, contiguous ones as [offset, bytes, bytes, ...]
     */
    constructor(name, {bytes, datasets}) {
        this.name = name
        this.bytes = bytes
        this.datasets = datasets
        this.places = new Map()
    }

    /** @type {(dataset: string) => number[][]} */ placesOf(dataset) {
        if (!this.places.has(dataset)) {
            this.places.set(dataset, this.datasets[dataset].pieces.flatMap(([start, ...sizes]) => {
                let end = start
                return sizes.map(size => [(end += size) - size, size])
            }))
        }
        return this.places.get(dataset)
    }

    /** Return a piece of a dataset by its number, as an array of numbers. @type {(dataset: string, number: number) => Promise<Piece>} */
    async piece(dataset, number) {
        const {type, length} = this.datasets[dataset]
        const place = this.placesOf(dataset)[number]
        if (!place[1]) return /** @type {Piece} */ (new TYPES[type](length)) // all of it is zero
        const key = `${this.name} ${dataset} ${number}`
        const found = cached(pieces, key, () => readPiece(this.name, this.bytes, place, type), MAX_CACHED_PIECES)
        pieces.delete(key)
        pieces.set(key, found)
        return await found
    }

    /** Return the piece with an element of a row of a dataset, and the element's index in the piece. @type {(dataset: string, row: number, at: number) => Promise<[Piece, number]>} */
    async pieceOf(dataset, row, at) {
        const {length, pieces_per_row: perRow} = this.datasets[dataset]
        return [await this.piece(dataset, row * perRow + Math.floor(at / length)), at % length]
    }

    /** @type {(dataset: string, row: number, at: number) => Promise<number>} */ async item(dataset, row, at) {
        const [piece, place] = await this.pieceOf(dataset, row, at)
        return Number(piece[place])
    }
}
