// The browser: elements made and found, keys, and what is remembered from visit to visit.

export const $ = id => document.getElementById(id)

/** Return an element: attributes by name, listeners as `onclick` and the like, classes as `class`. */
export function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag)
    give(element, attributes)
    element.append(...children.flat(Infinity).filter(child => child !== null && child !== false))
    return element
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag)
    give(element, attributes)
    element.append(...children.flat(Infinity))
    return element
}

function give(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value)
        else if (value === true) element.setAttribute(name, "")
        else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value)
    }
}

/** Return a move, or a game, as a button that leads there; `isHere` if it is shown now. */
export const step = (text, onclick, isHere = false, more = {}) =>
    h("button", {type: "button", class: "step", "aria-current": isHere ? "step" : false, onclick, ...more}, text)

/**
 * Return moves with their numbers as buttons.
 *
 * @param {string[][]} labels see `numbered` in position.js
 * @param {(index: number) => void} onGo told of the move that is chosen
 * @param {(index: number) => object} more returns the attributes of a move
 */
export const steps = (labels, onGo, here = -1, more = () => ({})) => labels.flatMap(([label, san], index) => [
    label && `${label} `, step(san, () => onGo(index), index === here, more(index)), " "])

/** Give an element other children; who was there by keyboard is led on to the first one that a selector finds. */
export function refill(element, children, selector = "button") {
    const focused = element.contains(document.activeElement) && document.activeElement.matches(":focus-visible")
    element.replaceChildren(...children)
    if (focused) element.querySelector(selector)?.focus({preventScroll: true})
}

/** Give a list of moves other ones; what is shown now stands in its middle. */
export function refillMoves(list, moves) {
    refill(list, moves, "[aria-current]")
    const here = list.querySelector("[aria-current]")
    list.scrollTop = here ? here.offsetTop - list.offsetTop - list.clientHeight / 2 : 0
}

/** Let a link lead to the same page with another query and hash. */
export function turnTo(link, query) {
    link.href = link.getAttribute("href").replace(/[?#].*/s, "") + query
}

/** Return what follows a link on this page, unless another tab or window is wanted. */
export const onPlainClick = call => event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    call()
}

/**
 * Let keys stand for something wherever the focus is, but not where somebody writes.
 *
 * @param {(key: string) => unknown} call told of a key; returns nothing if that means nothing
 */
export function onKey(call) {
    addEventListener("keydown", event => {
        const taken = event.target.closest?.("input, textarea, select, svg, dialog")
        if (taken || event.ctrlKey || event.metaKey || event.altKey) return
        if (call(event.key)) event.preventDefault()
    })
}

/** Let buttons, by their ids, do something. */
export function onClick(calls) {
    for (const [id, call] of Object.entries(calls)) $(id).addEventListener("click", () => call())
}

/** Let the buttons that walk be of use where there is something to walk to. */
export function offerWalk(isFirst, isLast) {
    $("first").disabled = $("back").disabled = isFirst
    $("forward").disabled = $("last").disabled = isLast
}

/** Return a function that calls another one a while after its own last call. */
export function settled(milliseconds, call) {
    let timer = 0
    return (...given) => {
        clearTimeout(timer)
        timer = setTimeout(() => call(...given), milliseconds)
    }
}

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
