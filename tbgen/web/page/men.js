// Men as the page draws and names them. In a FEN they are letters, and described men stand in brackets, such as [WD].

import {svg} from "./dom.js"
import {menFile} from "./taste.js"

const NAMES = {k: "king", q: "queen", r: "rook", b: "bishop", n: "knight", p: "pawn"}

export const isWhite = man => man !== man.toLowerCase()

/** Return what a man is called: "white king", "black [WD]". */
export const nameOf = man => `${isWhite(man) ? "white" : "black"} ${NAMES[man.toLowerCase()] ?? man.toUpperCase()}`

/** Return the id of a man of chess in the file of men. */
export const idOf = man => (isWhite(man) ? "w" : "b") + man.toLowerCase()

/** Return the address of the picture of a man in brackets. */
export const picture = man => `page/men/${isWhite(man) ? "w" : "b"}/${encodeURIComponent(man.slice(1, -1).toUpperCase())}.svg`

/** Return a drawing of a man, 40 units wide. */
export function drawn(man) {
    return man.startsWith("[")
        ? svg("image", {href: picture(man), width: 40, height: 40})
        : svg("use", {href: `#${idOf(man)}`})
}

/** Load the file of men into the page, where all drawings refer to it. */
async function load() {
    const answer = await fetch(`page/${menFile()}`)
    const men = new DOMParser().parseFromString(await answer.text(), "image/svg+xml").documentElement
    document.body.append(svg("svg", {width: 0, height: 0, "aria-hidden": "true"}, ...men.childNodes))
}

load().catch(() => {}) // squares and moves are of use without pictures, too
