// The position and the game as text, to be taken elsewhere.

import {$} from "./dom.js"
import {idOf, picture} from "./men.js"
import {describedIn, parse, withScore} from "./position.js"
import {menFile} from "./taste.js"

const SQUARE = 40

/** Return the FEN, with the accrued score as seventh field where it is not the position's own. */
export function fenOf(ply, answer) {
    const own = !answer?.accrued || answer.accrued === answer.position_score
    return own ? ply.fen : `${withScore(ply.fen)} ${answer.accrued}`
}

/** Return the board as an SVG file that needs nothing else. */
export async function svgOf(fen, flipped) {
    const men = await (await fetch(`page/${menFile()}`)).text()
    const style = getComputedStyle(document.documentElement)
    const [light, dark] = ["--lightsquare", "--darksquare"].map(name => style.getPropertyValue(name).trim())
    const place = square => {
        const [file, rank] = [square.charCodeAt(0) - 97, Number(square[1]) - 1]
        return flipped ? [7 - file, rank] : [file, 7 - rank]
    }
    const squares = Array.from({length: 64}, (_, index) => [index % 8, index >> 3])
        .filter(([x, y]) => (x + y) % 2)
        .map(([x, y]) => `M${x * SQUARE} ${y * SQUARE}h${SQUARE}v${SQUARE}h-${SQUARE}z`).join("")
    const drawn = new Map(await Promise.all(describedIn(fen).map(async man => [man, await dataOf(picture(man))])))
    const uses = [...parse(fen).men].map(([square, man]) => {
        const [x, y] = place(square)
        if (drawn.has(man)) return `<image href="${drawn.get(man)}" x="${x * SQUARE}" y="${y * SQUARE}" width="${SQUARE}" height="${SQUARE}"/>`
        return `<use href="#${idOf(man)}" x="${x * SQUARE}" y="${y * SQUARE}"/>`
    }).join("")
    const size = 8 * SQUARE
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}">${men.replace(/<\/?svg[^>]*>/g, "")}` +
        `<rect width="${size}" height="${size}" fill="${light}"/><path d="${squares}" fill="${dark}"/>${uses}</svg>\n`
}

/** Return a picture as an address that holds it. */
const dataOf = async address => `data:image/svg+xml,${encodeURIComponent(await (await fetch(address)).text())}`

/** Let texts be copied: functions that make them, by the names of the buttons; null where there is no such text. */
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

/** Put a text on the clipboard, and say so until another position is shown. */
export async function copy(text, what) {
    try {
        await navigator.clipboard.writeText(text)
    } catch {
        // Pages that do not come by HTTPS or from this machine have no clipboard but by selecting.
        const field = document.createElement("textarea")
        field.value = text
        document.body.append(field)
        field.select()
        document.execCommand("copy")
        field.remove()
    }
    $("said").textContent = `${what} copied`
}
