// The light or dark scheme: the system's, or the reader's choice. The browser stores the choice. The script runs before
// anything is drawn, and later labels the button of the page.
"use strict"

{
    const STORAGE_KEY = "tbgen-scheme"
    const LABELS = {auto: "as the system has them", light: "light", dark: "dark"}
    const root = document.documentElement

    /** Return the scheme after a click: first the opposite of the system's, so that the page changes, then the system's, then auto. */
    const nextScheme = () => {
        const [system, other] = matchMedia("(prefers-color-scheme: dark)").matches ? ["dark", "light"] : ["light", "dark"]
        return {auto: other, [other]: system, [system]: "auto"}[root.dataset.scheme]
    }

    const storedScheme = () => {
        try {
            return localStorage.getItem(STORAGE_KEY)
        } catch {
            return null // storage is unavailable
        }
    }

    const apply = scheme => {
        root.dataset.scheme = scheme in LABELS ? scheme : "auto"
        const button = document.getElementById("scheme")
        if (!button) return
        button.title = `Colours: ${LABELS[root.dataset.scheme]}`
        button.setAttribute("aria-label", button.title)
    }

    apply(storedScheme())
    addEventListener("storage", event => event.key === STORAGE_KEY && apply(event.newValue))
    addEventListener("DOMContentLoaded", () => {
        apply(root.dataset.scheme)
        document.getElementById("scheme")?.addEventListener("click", () => {
            apply(nextScheme())
            try {
                localStorage.setItem(STORAGE_KEY, root.dataset.scheme)
            } catch {
                // the choice lasts until the page is left
            }
        })
    })
}
