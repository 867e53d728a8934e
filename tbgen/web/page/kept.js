// What this browser remembers, if it remembers anything: for good, or as long as the tab is open.

const GOOD = "localStorage"
export const TAB = "sessionStorage"

/** Return what is remembered under a name; null if that is nothing. */
export function kept(name, where = GOOD) {
    try {
        return JSON.parse(window[where].getItem(name))
    } catch {
        return null
    }
}

/** Remember something; what there is no room for is forgotten. */
export function keep(name, value, where = GOOD) {
    try {
        window[where].removeItem(name)
        if (value !== null) window[where].setItem(name, JSON.stringify(value))
    } catch {
        // A browser that keeps nothing goes without.
    }
}
