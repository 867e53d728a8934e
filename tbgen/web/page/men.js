// Men that chess does not know, such as [WD]. The board has room for single letters: each kind gets one, and a picture.

import {svg} from "./dom.js"
import {piecesTranslations} from "./cm-chessboard/src/extensions/accessibility/I18n.js"

const MAN = /\[[^\]]*\]/g
const LETTERS = Array.from({length: 32}, (_, number) => String.fromCharCode(0x430 + number)) // Cyrillic
/** Descriptions in small letters by the letter that stands for them; where there are more, the oldest goes. */
const kinds = new Map()
const sprites = svg("defs")
document.body.append(svg("svg", {class: "sprites", width: 0, height: 0, "aria-hidden": "true"}, sprites))

const isWhite = man => man !== man.toLowerCase()

/** Return the letter of a man in brackets, a capital for White's. */
function letterOf(man) {
    const kind = man.toLowerCase()
    let letter = [...kinds].find(([, each]) => each === kind)?.[0]
    if (!letter) {
        letter = LETTERS.find(each => !kinds.has(each)) ?? kinds.keys().next().value
        kinds.delete(letter)
        kinds.set(letter, kind)
        for (const side of "wb") draw(side, letter, kind)
        piecesTranslations.en.pieces[letter] = piecesTranslations.en.pieces_long[letter] = kind.toUpperCase()
    }
    return isWhite(man) ? letter.toUpperCase() : letter
}

function draw(side, letter, kind) {
    document.getElementById(side + letter)?.remove()
    sprites.append(svg("g", {id: side + letter}, svg("image", {href: pictureOf(side, kind), width: 40, height: 40})))
}

const pictureOf = (side, kind) => `page/men/${side}/${encodeURIComponent(kind.slice(1, -1).toUpperCase())}.svg`

/** Return the address of the picture of a man in brackets. */
export const picture = man => pictureOf(isWhite(man) ? "w" : "b", man.toLowerCase())

/** Return a FEN as the board takes it. */
export const onBoard = fen => fen.replace(MAN, letterOf)

/** Return what the board has as a FEN. */
export const fromBoard = rows => rows.replace(/[\u0410-\u044f]/g, letter => {
    const kind = kinds.get(letter.toLowerCase())
    return isWhite(letter) ? kind.toUpperCase() : kind
})

/** Return the tool that puts a man, such as `[WD]`, on the board, as `wk` puts a king. */
export const toolOf = man => (isWhite(man) ? "w" : "b") + letterOf(man).toLowerCase()
