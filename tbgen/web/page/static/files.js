// The files of the host, and those of tables in pieces: by range requests, unpacked and kept. docs/format.md says what
// tables hold, docs/publishing.md where the list of their pieces comes from.

import {Refused} from "../api.js"
import {h} from "../dom.js"
import {TAB, keep, kept as remembered} from "../kept.js"

const MOST_KEPT = 2000
/** Bytes that HDF5 puts behind a packed piece: a checksum, beside which that of zlib is enough. */
const CHECKSUM = 4
/** The bytes of a file for which somebody waits. */
const LARGE = 1e6
/** What the browser keeps, so that the notice comes once. */
const TOLD = "tbgen-whole-files"
const TYPES = {u1: Uint8Array, u2: Uint16Array, i4: Int32Array, u8: BigUint64Array}

const damaged = name => new Refused(500, {code: "damaged_table", message: `the file ${name} on this site cannot be used: reload the page, and if that does not help, tell its owner`})

/** Ask for a file, or a range of it: browsers would put requests for ranges of one file into a queue to keep them. */
async function ask(name, range = null) {
    const options = range ? {headers: {Range: `bytes=${range}`}, cache: "no-store"} : {}
    const response = await fetch(name, options).catch(() => null)
    if (response?.ok) return response
    throw new Refused(response?.status ?? 0, {code: "unreachable", message: `The host does not hand out ${name}: try again later.`})
}

/** Return what a JSON file says. */
export const readJson = async name => (await ask(name)).json()

/** Return what a map has under a key, or is to have; what fails is forgotten. */
export function kept(map, key, make) {
    if (!map.has(key)) {
        map.set(key, make())
        map.get(key).catch(() => map.delete(key))
    }
    return map.get(key)
}

/** Whether the host answers range requests, under the name of nothing, and else files as a whole by their names. */
const host = new Map()

async function servesRanges(name) {
    const response = await ask(name, "0-0")
    response.body?.cancel()
    return response.status === 206
}

/** Tell, once, why what is asked for takes a while. */
function tell(size) {
    if (size < LARGE || remembered(TOLD, TAB)) return
    keep(TOLD, true, TAB)
    const text = `The host of this site hands out tables only as a whole, this one of ${(size / 1e6).toFixed(1)} MB: some positions take a while to load.`
    const notice = h("div", {popover: "manual", role: "status"}, text, " ", h("button", {type: "button", onclick: () => notice.remove()}, "OK"))
    document.body.append(notice)
    notice.showPopover?.() // browsers without it have the notice at the end of the page
}

/** Return some bytes of a file of a known size. */
async function part(name, size, at, count) {
    if (await kept(host, "", () => servesRanges(name))) {
        const response = await ask(name, `${at}-${at + count - 1}`)
        const told = response.headers.get("Content-Range")
        if (response.status !== 206 || (told && !told.endsWith(`/${size}`))) throw damaged(name)
        return await response.arrayBuffer()
    }
    const file = await kept(host, name, () => {
        tell(size)
        return ask(name).then(response => response.arrayBuffer())
    })
    if (file.byteLength !== size) throw damaged(name)
    return file.slice(at, at + count)
}

/** Decoded pieces by file, dataset and number; what was used last stays. */
const pieces = new Map()

async function unpacked(name, size, [at, count], type) {
    try {
        const packed = (await part(name, size, at, count)).slice(0, count - CHECKSUM)
        const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))
        return new TYPES[type](await new Response(stream).arrayBuffer())
    } catch (error) {
        throw error instanceof TypeError ? damaged(name) : error // what does not unpack
    }
}

/** The datasets of one file. */
export class File {
    /**
     * @param {string} name of the file
     * @param {object} listed its `bytes`, and its `datasets`: their type, the elements of a piece, the pieces of a row,
     *     and where the pieces lie, those that follow each other as [offset, bytes, bytes, ...]
     */
    constructor(name, {bytes, datasets}) {
        this.name = name
        this.bytes = bytes
        this.datasets = datasets
        this.places = new Map()
    }

    placesOf(dataset) {
        if (!this.places.has(dataset)) {
            this.places.set(dataset, this.datasets[dataset].pieces.flatMap(([start, ...sizes]) => {
                let end = start
                return sizes.map(size => [(end += size) - size, size])
            }))
        }
        return this.places.get(dataset)
    }

    /** Return a piece of a dataset by its number, as an array of numbers. */
    async piece(dataset, number) {
        const {type, length} = this.datasets[dataset]
        const place = this.placesOf(dataset)[number]
        if (!place[1]) return new TYPES[type](length) // all of it is zero
        const key = `${this.name} ${dataset} ${number}`
        const found = kept(pieces, key, () => unpacked(this.name, this.bytes, place, type))
        pieces.delete(key)
        pieces.set(key, found)
        if (pieces.size > MOST_KEPT) pieces.delete(pieces.keys().next().value)
        return await found
    }

    /** Return the piece that has an element of a row of a dataset, and the element's place in it. */
    async pieceOf(dataset, row, at) {
        const {length, pieces_per_row: perRow} = this.datasets[dataset]
        return [await this.piece(dataset, row * perRow + Math.floor(at / length)), at % length]
    }

    async item(dataset, row, at) {
        const [piece, place] = await this.pieceOf(dataset, row, at)
        return Number(piece[place])
    }
}
