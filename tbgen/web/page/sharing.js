// What is shown, for others: as a picture or a film, which the server makes, or in a frame of another page.

import {Refused, attempt} from "./api.js"
import {copy} from "./copying.js"
import {$, h} from "./dom.js"
import {written} from "./state.js"
import {lineThrough} from "./tree.js"

const FRAME = 'width="420" height="600" title="A position of r-mobility chess"'

/** @param {() => object} here returns the `state` that is shown, the `plies` of its tree, and best play, a `line` */
export function offerSharing(here) {
    const shown = () => lineOf(here())
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
    on("copy-embed", () => copy(`<iframe src="${new URL($("copy-embed").dataset.page + written(shown()), location)}" ${FRAME}></iframe>`, "Frame"))
}

/** Return a state without variations: what is shown, and how it goes on, at its end by best play. */
function lineOf({state, plies, line}) {
    const path = lineThrough(plies, state.at)
    const best = path.at(-1) === state.at ? line : []
    const sans = [...path.slice(1).map(number => plies[number]), ...best].map(ply => ply.san)
    return {...state, line: sans, at: path.indexOf(state.at), head: "", setup: false}
}

const on = (id, call) => $(id).addEventListener("click", () => attempt($("said"), call))

/** Return a picture of a state. */
async function made(name, state) {
    const query = written(state)
    const document = {code: "too_large", message: "The line is too long for a picture"}
    if (query.includes("#")) throw new Refused(413, document)
    const response = await fetch(name + query)
    if (!response.ok) throw new Refused(response.status, await response.json())
    return await response.blob()
}

function save(blob, name) {
    const href = URL.createObjectURL(blob)
    h("a", {href, download: name}).click()
    setTimeout(() => URL.revokeObjectURL(href), 60_000)
    $("said").textContent = `${name} saved`
}
