// Light or dark: as the system has it, or as the reader chooses; this browser remembers it. This runs before anything is
// drawn, and later fills the button of the page.
"use strict"

{
    const NAME = "tbgen-scheme"
    const SAID = {auto: "as the system has them", light: "light", dark: "dark"}
    const root = document.documentElement

    /** What a click leads to: first to the other one than the system has, so that it is seen, then to this, and back. */
    const next = () => {
        const [system, other] = matchMedia("(prefers-color-scheme: dark)").matches ? ["dark", "light"] : ["light", "dark"]
        return {auto: other, [other]: system, [system]: "auto"}[root.dataset.scheme]
    }

    const remembered = () => {
        try {
            return localStorage.getItem(NAME)
        } catch {
            return null // a browser that keeps nothing
        }
    }

    const take = scheme => {
        root.dataset.scheme = scheme in SAID ? scheme : "auto"
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
            take(next())
            try {
                localStorage.setItem(NAME, root.dataset.scheme)
            } catch {
                // until the page is left
            }
        })
    })
}
