// The men to set up, each a tool: pressed, it puts its man on squares that are clicked.

const buttons = [...document.querySelectorAll("#palette [data-tool]")]

/** Show which tool is chosen. */
export function showTool(tool) {
    for (const button of buttons) button.setAttribute("aria-pressed", (button.dataset.tool || null) === tool)
}

/** Let tools be chosen, and men be dragged from here to their squares. */
export function offerTools(board) {
    for (const button of buttons) {
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
                if (square && tool) board.put(square, tool)
            }, {once: true})
        })
    }
}
