// Helpers for the browser: making and finding elements, keys, and storage.

const PERMANENT = "localStorage"
export const TAB = "sessionStorage"

/** Return the element with an id. @type {<Id extends keyof Elements & string>(id: Id) => Elements[Id]} */
export const $ = id => /** @type {Elements[typeof id]} */ (document.getElementById(id))

/** Return a new element. Attributes are named as in HTML, for example `class`; listeners are functions such as `onclick`. @type {<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, attributes?: Attributes, ...children: Child[]) => HTMLElementTagNameMap[Tag]} */
export function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag)
    setAttributes(element, attributes)
    element.append(...nodes(children))
    return element
}

/** Return an SVG element; see `h`. @type {<Tag extends keyof SVGElementTagNameMap>(tag: Tag, attributes?: Attributes, ...children: Child[]) => SVGElementTagNameMap[Tag]} */
export function svg(tag, attributes = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag)
    setAttributes(element, attributes)
    element.append(...nodes(children))
    return element
}

/** Return children as a flat list, without null and false. @type {(children: Child[]) => (Node | string)[]} */
const nodes = children => /** @type {(Node | string)[]} */ (/** @type {unknown[]} */ (children).flat(Infinity).filter(child => child !== null && child !== false))

/** @type {(element: Element, attributes: Attributes) => void} */ function setAttributes(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") element.addEventListener(name.slice(2), value)
        else if (value === true) element.setAttribute(name, "")
        else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value))
    }
}

/** Return a button that leads to a move or game; `isHere` says whether that move or game is shown now. @type {(text: string, onclick: () => unknown, isHere?: boolean, more?: Attributes) => Button} */
export const step = (text, onclick, isHere = false, more = {}) =>
    h("button", {type: "button", class: "step", "aria-current": isHere ? "step" : false, onclick, ...more}, text)

/**
 * Return moves with their numbers as buttons.
 *
 * @type {(labels: string[][], onGo: (index: number) => unknown, here?: number, more?: (index: number) => Attributes) => Child[]}
 * @param labels see `numbered` in position.js
 * @param onGo called with the index of the chosen move
 * @param more returns the attributes of a move
 */
export const steps = (labels, onGo, here = -1, more = () => ({})) => labels.flatMap(([label, san], index) => [
    label && `${label} `, step(san, () => onGo(index), index === here, more(index)), " "])

/** Replace the children of an element. If one of them had the keyboard's focus, focus the first new element that matches the selector. @type {(element: Element, children: Child[], selector?: string) => void} */
export function refill(element, children, selector = "button") {
    const focused = element.contains(document.activeElement) && document.activeElement.matches(":focus-visible")
    element.replaceChildren(...nodes(children))
    if (focused) /** @type {HTMLElement} */ (element.querySelector(selector))?.focus({preventScroll: true})
}

/** Replace the moves of a list, and scroll the current move to the middle of the list. @type {(list: HTMLElement, moves: Child[]) => void} */
export function refillMoves(list, moves) {
    refill(list, moves, "[aria-current]")
    const here = /** @type {HTMLElement} */ (list.querySelector("[aria-current]"))
    list.scrollTop = here ? here.offsetTop - list.offsetTop - list.clientHeight / 2 : 0
}

/** Replace the query and hash of a link. @type {(link: HTMLAnchorElement, query: string) => void} */
export function turnTo(link, query) {
    link.href = link.getAttribute("href").replace(/[?#].*/s, "") + query
}

/** Return a listener that handles a click on a link on this page, unless the visitor opens another tab or window. @type {(call: () => unknown) => (event: MouseEvent) => void} */
export const onPlainClick = call => event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    call()
}

/**
 * Listen to keys wherever the focus is, except in fields, boards and dialogs.
 *
 * @type {(call: (key: string) => unknown) => void}
 * @param call called with a key; returns whether it was handled
 */
export function onKey(call) {
    addEventListener("keydown", event => {
        const owner = /** @type {Partial<Element>} */ (event.target).closest?.("input, textarea, select, svg, dialog")
        if (owner || event.ctrlKey || event.metaKey || event.altKey) return
        if (call(event.key)) event.preventDefault()
    })
}

/** Add click listeners to buttons by their ids. @type {(calls: Record<string, () => unknown>) => void} */
export function onClick(calls) {
    for (const [id, call] of Object.entries(calls)) $(id).addEventListener("click", () => call())
}

/** Enable each of the buttons that step if there is a position to step to. @type {(isFirst: boolean, isLast: boolean) => void} */
export function offerWalk(isFirst, isLast) {
    $("first").disabled = $("back").disabled = isFirst
    $("forward").disabled = $("last").disabled = isLast
}

/** Return a debounced function, which calls another function some time after its own last call. @type {<Given extends unknown[]>(milliseconds: number, call: (...given: Given) => unknown) => (...given: Given) => void} */
export function debounced(milliseconds, call) {
    let timer = 0
    return (...given) => {
        clearTimeout(timer)
        timer = setTimeout(() => call(...given), milliseconds)
    }
}

// Storage in this browser, if available: permanent storage, or storage for as long as the tab is open.

/** @typedef {"localStorage" | "sessionStorage"} Where */

/** Return the value stored under a name, or null. @type {<Found>(name: string, where?: Where) => Found} */
export function stored(name, where = PERMANENT) {
    try {
        return JSON.parse(window[where].getItem(name))
    } catch {
        return null
    }
}

/** Store a value under a name; null removes it. If storing fails, nothing is stored. @type {(name: string, value: unknown, where?: Where) => void} */
export function store(name, value, where = PERMANENT) {
    try {
        window[where].removeItem(name)
        if (value !== null) window[where].setItem(name, JSON.stringify(value))
    } catch {
        // Storage is full or unavailable: the page works without it.
    }
}
