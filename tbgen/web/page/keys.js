// Keys that stand for something wherever the focus is, but not where somebody writes.

/** @param {(key: string) => boolean} call told of a key; whether it means anything */
export function onKey(call) {
    addEventListener("keydown", event => {
        const taken = event.target.closest?.("input, textarea, select, svg, dialog")
        if (taken || event.ctrlKey || event.metaKey || event.altKey) return
        if (call(event.key)) event.preventDefault()
    })
}
