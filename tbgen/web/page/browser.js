// The browser: elements made and found, keys, and what is remembered from visit to visit.

/** Return the element of an id. @type {<Id extends keyof Elements & string>(id: Id) => Elements[Id]} */
export const $ = id => /** @type {Elements[typeof id]} */ (document.getElementById(id))

/** Return an element: attributes by name, listeners as `onclick` and the like, classes as `class`. @type {<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, attributes?: Attributes, ...children: Child[]) => HTMLElementTagNameMap[Tag]} */
export function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag)
    give(element, attributes)
    element.append(...nodes(children))
    return element
}

/** The same for SVG. @type {<Tag extends keyof SVGElementTagNameMap>(tag: Tag, attributes?: Attributes, ...children: Child[]) => SVGElementTagNameMap[Tag]} */
export function svg(tag, attributes = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag)
    give(element, attributes)
    element.append(...nodes(children))
    return element
}

/** Return what there is among children, in one list. @type {(children: Child[]) => (Node | string)[]} */
const nodes = children => /** @type {(Node | string)[]} */ (/** @type {unknown[]} */ (children).flat(Infinity).filter(child => child !== null && child !== false))

/** @type {(element: Element, attributes: Attributes) => void} */ function give(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") element.addEventListener(name.slice(2), value)
        else if (value === true) element.setAttribute(name, "")
        else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value))
    }
}

/** Return a move, or a game, as a button that leads there; `isHere` if it is shown now. @type {(text: string, onclick: () => unknown, isHere?: boolean, more?: Attributes) => Button} */
export const step = (text, onclick, isHere = false, more = {}) =>
    h("button", {type: "button", class: "step", "aria-current": isHere ? "step" : false, onclick, ...more}, text)

/**
 * Return moves with their numbers as buttons.
 *
 * @type {(labels: string[][], onGo: (index: number) => unknown, here?: number, more?: (index: number) => Attributes) => Child[]}
 * @param labels see `numbered` in position.js
 * @param onGo told of the move that is chosen
 * @param more returns the attributes of a move
 */
export const steps = (labels, onGo, here = -1, more = () => ({})) => labels.flatMap(([label, san], index) => [
    label && `${label} `, step(san, () => onGo(index), index === here, more(index)), " "])

/** Give an element other children; who was there by keyboard is led on to the first one that a selector finds. @type {(element: Element, children: Child[], selector?: string) => void} */
export function refill(element, children, selector = "button") {
    const focused = element.contains(document.activeElement) && document.activeElement.matches(":focus-visible")
    element.replaceChildren(...nodes(children))
    if (focused) /** @type {HTMLElement} */ (element.querySelector(selector))?.focus({preventScroll: true})
}

/** Give a list of moves other ones; what is shown now stands in its middle. @type {(list: HTMLElement, moves: Child[]) => void} */
export function refillMoves(list, moves) {
    refill(list, moves, "[aria-current]")
    const here = /** @type {HTMLElement} */ (list.querySelector("[aria-current]"))
    list.scrollTop = here ? here.offsetTop - list.offsetTop - list.clientHeight / 2 : 0
}

/** Let a link lead to the same page with another query and hash. @type {(link: HTMLAnchorElement, query: string) => void} */
export function turnTo(link, query) {
    link.href = link.getAttribute("href").replace(/[?#].*/s, "") + query
}

/** Return what follows a link on this page, unless another tab or window is wanted. @type {(call: () => unknown) => (event: MouseEvent) => void} */
export const onPlainClick = call => event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    call()
}

/**
 * Let keys stand for something wherever the focus is, but not where somebody writes.
 *
 * @type {(call: (key: string) => unknown) => void}
 * @param call told of a key; returns nothing if that means nothing
 */
export function onKey(call) {
    addEventListener("keydown", event => {
        const taken = /** @type {Partial<Element>} */ (event.target).closest?.("input, textarea, select, svg, dialog")
        if (taken || event.ctrlKey || event.metaKey || event.altKey) return
        if (call(event.key)) event.preventDefault()
    })
}

/** Let buttons, by their ids, do something. @type {(calls: Record<string, () => unknown>) => void} */
export function onClick(calls) {
    for (const [id, call] of Object.entries(calls)) $(id).addEventListener("click", () => call())
}

/** Let the buttons that walk be of use where there is something to walk to. @type {(isFirst: boolean, isLast: boolean) => void} */
export function offerWalk(isFirst, isLast) {
    $("first").disabled = $("back").disabled = isFirst
    $("forward").disabled = $("last").disabled = isLast
}

/** Return a function that calls another one a while after its own last call. @type {<Given extends unknown[]>(milliseconds: number, call: (...given: Given) => unknown) => (...given: Given) => void} */
export function settled(milliseconds, call) {
    let timer = 0
    return (...given) => {
        clearTimeout(timer)
        timer = setTimeout(() => call(...given), milliseconds)
    }
}

// What this browser remembers, if it remembers anything: for good, or as long as the tab is open.

/** @typedef {"localStorage" | "sessionStorage"} Where */
const GOOD = "localStorage"
export const TAB = "sessionStorage"

/** Return what is remembered under a name; null if that is nothing. @type {<Found>(name: string, where?: Where) => Found} */
export function kept(name, where = GOOD) {
    try {
        return JSON.parse(window[where].getItem(name))
    } catch {
        return null
    }
}

/** Remember something; what there is no room for is forgotten. @type {(name: string, value: unknown, where?: Where) => void} */
export function keep(name, value, where = GOOD) {
    try {
        window[where].removeItem(name)
        if (value !== null) window[where].setItem(name, JSON.stringify(value))
    } catch {
        // A browser that keeps nothing goes without.
    }
}
