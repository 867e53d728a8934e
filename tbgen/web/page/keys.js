// Keys that stand for something wherever the focus is, but not where somebody writes.

/** @param {(key: string) => unknown} call told of a key; returns nothing if that means nothing */
export function onKey(call) {
    addEventListener("keydown", event => {
        const taken = event.target.closest?.("input, textarea, select, svg, dialog")
        if (taken || event.ctrlKey || event.metaKey || event.altKey) return
        if (call(event.key)) event.preventDefault()
    })
}
