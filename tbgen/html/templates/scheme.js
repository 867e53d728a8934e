// Light or dark: as the system has it, or as the reader chooses; this browser remembers it. This runs before anything is
// drawn, and later fills the button of the page.
"use strict"

{
    const NAME = "tbgen-scheme"
    const NEXT = {auto: "light", light: "dark", dark: "auto"}
    const SAID = {auto: "as the system has them", light: "light", dark: "dark"}
    const root = document.documentElement

    const remembered = () => {
        try {
            return localStorage.getItem(NAME)
        } catch {
            return null // a browser that keeps nothing
        }
    }

    const take = scheme => {
        root.dataset.scheme = scheme in NEXT ? scheme : "auto"
        const button = document.getElementById("scheme")
        if (!button) return
        button.title = `Colours: ${SAID[root.dataset.scheme]}`
        button.setAttribute("aria-label", button.title)
    }

    take(remembered())
    addEventListener("storage", event => event.key === NAME && take(event.newValue))
    addEventListener("DOMContentLoaded", () => {
        take(root.dataset.scheme)
        document.getElementById("scheme")?.addEventListener("click", () => {
            take(NEXT[root.dataset.scheme])
            try {
                localStorage.setItem(NAME, root.dataset.scheme)
            } catch {
                // until the page is left
            }
        })
    })
}
