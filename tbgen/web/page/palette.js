// The men to set up, each a tool: pressed, it puts its man on squares that are clicked.

import {$, h, svg} from "./dom.js"
import {drawn, nameOf} from "./men.js"
import {describedIn} from "./position.js"

const buttons = () => [...document.querySelectorAll("#palette [data-tool]")]

/** Show which tool is chosen. */
export function showTool(tool) {
    for (const button of buttons()) button.setAttribute("aria-pressed", (button.dataset.tool || null) === tool)
}

/** Let tools be chosen, and men be dragged from here to their squares. */
export function offerTools(board) {
    for (const button of buttons()) offer(board, button)
}

/** Offer the described men of a position too; they stay. */
export function offerDescribed(board, fen) {
    const kinds = new Set(describedIn(fen).map(man => man.toUpperCase()))
    for (const man of [...kinds].flatMap(kind => [kind, kind.toLowerCase()])) {
        if (buttons().some(button => button.dataset.tool === man)) continue
        const button = h("button", {type: "button", "data-tool": man, class: "man", "aria-pressed": "false", title: nameOf(man)},
            svg("svg", {viewBox: "0 0 40 40", "aria-hidden": "true"}, drawn(man)))
        $("palette").append(button)
        offer(board, button)
    }
}

function offer(board, button) {
    const tool = button.dataset.tool || null
    const choose = () => {
        board.edit(tool)
        showTool(tool)
    }
    button.addEventListener("click", choose)
    button.addEventListener("pointerdown", () => {
        choose()
        addEventListener("pointerup", event => {
            const square = document.elementFromPoint(event.clientX, event.clientY)?.getAttribute("data-square")
            if (square && tool) board.set(square, tool)
        }, {once: true})
    })
}
