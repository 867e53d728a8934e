// Sharing the view: as text, as a picture or GIF made by the server, or in a frame of another page.

import {Refused, attempt} from "./api.js"
import {$, h} from "./browser.js"
import {definitions, drawn, pictureOf} from "./chessboard.js"
import {describedIn, withScore} from "./position.js"
import {written} from "./state.js"
import {lineThrough} from "./tree.js"

const FRAME = 'width="420" height="600" title="A position of r-mobility chess"'

/** Offer pictures, GIFs and frames; `here` returns the shown `state`, the `plies` of its tree, and best play, a `line`. @type {(here: () => SharedView) => void} */
export function offerSharing(here) {
    const shown = () => lineState(here())
    on("copy-picture", async () => {
        const {line, at, ...state} = shown()
        const picture = made("picture.png", {...state, line: line.slice(0, at), at})
        try {
            await navigator.clipboard.write([new ClipboardItem({"image/png": picture})])
            $("said").textContent = "Picture copied"
        } catch {
            save(await picture, "position.png") // not every browser has a clipboard for pictures
        }
    })
    on("save-film", async () => save(await made("line.gif", shown()), "line.gif"))
    on("copy-embed", () => copy(`<iframe src="${new URL($("copy-embed").dataset.page + written(shown()), location.href)}" ${FRAME}></iframe>`, "Frame"))
}

/** Return a state without variations: the line through the shown position, continued by best play if that position is the last one. @type {(shown: SharedView) => State} */
function lineState({state, plies, line}) {
    const path = lineThrough(plies, state.at)
    const best = path.at(-1) === state.at ? line : []
    const sans = [...path.slice(1).map(number => plies[number]), ...best].map(ply => ply.san)
    return {...state, line: sans, at: path.indexOf(state.at), head: "", setup: false}
}

/** @type {(id: string, call: () => unknown) => void} */
const on = (id, call) => $(id).addEventListener("click", () => attempt($("said"), call))

/** Return a picture of a state. @type {(name: string, state: State) => Promise<Blob>} */
async function made(name, state) {
    const query = written(state)
    if (query.includes("#")) throw new Refused(413, {code: "too_large", message: "The line is too long for a picture"})
    const response = await fetch(name + query)
    if (!response.ok) throw new Refused(response.status, await response.json())
    return await response.blob()
}

/** @type {(blob: Blob, name: string) => void} */ function save(blob, name) {
    const href = URL.createObjectURL(blob)
    h("a", {href, download: name}).click()
    setTimeout(() => URL.revokeObjectURL(href), 60_000)
    $("said").textContent = `${name} saved`
}

// The position and the game as text.

/** Return the FEN, with the accrued score as seventh field if it is not the position score. @type {(ply: Ply, answer: Answer) => string} */
export function fenOf(ply, answer) {
    const isFresh = !answer?.accrued || answer.accrued === answer.position_score
    return isFresh ? ply.fen : `${withScore(ply.fen)} ${answer.accrued}`
}

/** Return the board as an SVG file that needs no other files. @type {(fen: string, flipped: boolean) => Promise<string>} */
export async function svgOf(fen, flipped) {
    const style = getComputedStyle(document.documentElement)
    const picture = pictureOf(fen, flipped)
    for (const shade of ["light", "dark"]) picture.querySelector(`.${shade}`).setAttribute("fill", style.getPropertyValue(`--${shade}square`).trim())
    picture.prepend(...await definitions())
    let text = new XMLSerializer().serializeToString(picture)
    for (const man of describedIn(fen)) {
        const address = drawn(man).getAttribute("href") // on the page, its policy forbids the data address that replaces this one
        text = text.replaceAll(`"${address}"`, `"${await dataOf(address)}"`)
    }
    return `${text}\n`
}

/** Return a picture as a data address. @type {(address: string) => Promise<string>} */
const dataOf = async address => `data:image/svg+xml,${encodeURIComponent(await (await fetch(address)).text())}`

/** Let the visitor copy texts. `made` has, by the names of the buttons, functions that return the texts, or null for a text that does not exist. @type {(made: Record<string, () => string | Promise<string>>) => void} */
export function offerCopies(made) {
    for (const [name, make] of Object.entries(made)) {
        const button = $(`copy-${name}`)
        button.addEventListener("click", async () => {
            const text = await make()
            if (text === null) $("said").textContent = `There is no ${button.textContent} of it: copy the link instead`
            else copy(text, button.textContent)
        })
    }
}

/** Copy a text to the clipboard, with a message that lasts until another position is shown. @type {(text: string, what: string) => Promise<void>} */
export async function copy(text, what) {
    try {
        await navigator.clipboard.writeText(text)
    } catch {
        // Pages from other machines without HTTPS can copy only selected text.
        const field = document.createElement("textarea")
        field.value = text
        document.body.append(field)
        field.select()
        document.execCommand("copy")
        field.remove()
    }
    $("said").textContent = `${what} copied`
}
