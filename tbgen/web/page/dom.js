// Elements, made and found.

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

/** Let a link lead to the same page with another query and hash. */
export function turnTo(link, query) {
    link.href = link.getAttribute("href").replace(/[?#].*/s, "") + query
}

/** Give an element other children; who was there by keyboard is led on to the first one that a selector finds. */
export function refill(element, children, selector = "button") {
    const focused = element.contains(document.activeElement) && document.activeElement.matches(":focus-visible")
    element.replaceChildren(...children)
    if (focused) element.querySelector(selector)?.focus({preventScroll: true})
}

/** A score, which no line breaks after its minus. */
export const score = text => h("span", {class: "score"}, text)

/** Return a text as it is shown: its scores are not broken. */
export const whole = text => text.split(/(-?G\d+\.\d)/).map((part, index) => index % 2 ? score(part) : part)

/** Show a score large; a minus is explained beside it. */
export function showScore(element, text) {
    element.replaceChildren(score(text))
    element.classList.toggle("minus", text.startsWith("-"))
}

/** Call a function a while after its last call. */
export function settled(milliseconds, call) {
    let timer = 0
    return (...given) => {
        clearTimeout(timer)
        timer = setTimeout(() => call(...given), milliseconds)
    }
}
