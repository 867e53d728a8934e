// Boards of a report that step through their lines, and the search for a material. Pages are complete without this script.
"use strict"

const SQUARE = 45, MARGIN = 15 // as in chess.svg
const STEP_MS = 900
const SVG = "http://www.w3.org/2000/svg"

function element(tag, attributes, ...children) {
    const made = document.createElement(tag)
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
    made.append(...children)
    return made
}

const corner = square => [MARGIN + SQUARE * (square.charCodeAt(0) - 97), MARGIN + SQUARE * (8 - Number(square[1]))]

/** Return the men after a move such as "e7e8queen": names by square. Lines have no castling. */
function after(men, uci) {
    const [from, to, promoted] = [uci.slice(0, 2), uci.slice(2, 4), uci.slice(4)]
    const next = new Map(men)
    const man = next.get(from)
    if (man.endsWith("pawn") && from[0] !== to[0] && !next.has(to)) next.delete(to[0] + from[1])
    next.delete(from)
    next.set(to, promoted ? man.replace("pawn", promoted) : man)
    return next
}

class Stepper {
    constructor(figure) {
        this.board = figure.querySelector("svg.board")
        this.moves = figure.dataset.line.split(" ").map(move => move.split("|"))
        this.positions = [this.read()]
        for (const [uci] of this.moves) this.positions.push(after(this.positions.at(-1), uci))
        this.at = 0
        this.timer = 0
        this.said = element("span", {class: "ply", role: "status"})
        this.run = element("button", {type: "button"}, "Play")
        this.buttons = [["Start", () => -Infinity], ["Back", at => at - 1], ["Forward", at => at + 1], ["End", () => Infinity]]
            .map(([name, goal]) => {
                const button = element("button", {type: "button"}, name)
                button.addEventListener("click", () => { this.stop(); this.show(goal(this.at)) })
                return button
            })
        this.run.addEventListener("click", () => this.timer ? this.stop() : this.play())
        const [first, back, forward, last] = this.buttons
        figure.querySelector(".steps").append(first, back, this.run, forward, last, this.said)
        this.show(0)
        if ("autoplay" in figure.dataset && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.play()
    }

    /** Return the men of the diagram by square. */
    read() {
        const men = new Map()
        for (const use of this.men()) {
            const file = (use.getAttribute("x") - MARGIN) / SQUARE, rank = 8 - (use.getAttribute("y") - MARGIN) / SQUARE
            men.set(String.fromCharCode(97 + file) + rank, use.getAttribute("href").slice(1))
        }
        return men
    }

    men() {
        return this.board.querySelectorAll("use:not(:first-of-type)")
    }

    show(wanted) {
        this.at = Math.min(Math.max(wanted, 0), this.moves.length)
        for (const old of [...this.men(), ...this.board.querySelectorAll("rect")]) old.remove()
        const [uci = "", san = "", accrued = ""] = this.moves[this.at - 1] ?? []
        for (const square of [uci.slice(0, 2), uci.slice(2, 4)].filter(Boolean)) this.draw("rect", square, {width: SQUARE, height: SQUARE, class: "made"})
        for (const [square, man] of this.positions[this.at]) this.draw("use", square, {href: `#${man}`})
        this.said.textContent = this.at ? `${san} ${accrued}` : ""
        const [first, back, forward, last] = this.buttons
        first.disabled = back.disabled = this.at === 0
        forward.disabled = last.disabled = this.at === this.moves.length
    }

    draw(tag, square, attributes) {
        const [x, y] = corner(square)
        const made = document.createElementNS(SVG, tag)
        for (const [name, value] of Object.entries({x, y, ...attributes})) made.setAttribute(name, value)
        this.board.append(made)
    }

    play() {
        if (this.at === this.moves.length) this.show(0)
        this.run.textContent = "Pause"
        this.said.setAttribute("role", "presentation") // screen readers would read every move
        this.timer = setInterval(() => {
            this.show(this.at + 1)
            if (this.at === this.moves.length) this.stop()
        }, STEP_MS)
    }

    stop() {
        clearInterval(this.timer)
        this.timer = 0
        this.run.textContent = "Play"
        this.said.setAttribute("role", "status")
    }
}

/** Let the reader search for a material: only listed tables with its men remain, with colours exchanged too. */
function offerSearch(form) {
    const field = form.querySelector("input")
    const lists = [...document.querySelectorAll("table.materials")]
    const sides = name => name.toUpperCase().split(/V|(?<=^K[^V]*)(?=K)/).map(side => [...side].sort().join(""))
    const fits = (name, typed) => {
        const [one, other = ""] = sides(typed)
        const has = (side, wanted) => [...wanted].every(man => side.split(man).length >= wanted.split(man).length)
        const [white, black] = sides(name)
        return (has(white, one) && has(black, other)) || (has(white, other) && has(black, one))
    }
    const rows = () => lists.flatMap(list => [...list.tBodies[0].rows])
    const filter = () => {
        const typed = field.value.trim()
        for (const row of rows()) row.hidden = !fits(row.cells[0].textContent.trim(), typed)
        for (const list of lists) list.closest("details").open = typed !== "" || list.closest("details").dataset.open === "true"
        const left = rows().filter(row => !row.hidden).length
        form.querySelector("[role=status]").textContent = typed ? `${left} ${left === 1 ? "table" : "tables"}` : ""
    }
    field.addEventListener("input", filter)
    form.addEventListener("submit", event => {
        event.preventDefault()
        rows().find(row => !row.hidden)?.querySelector("a").click()
    })
}

for (const figure of document.querySelectorAll("figure[data-line]")) new Stepper(figure)
for (const form of document.querySelectorAll("form.search")) offerSearch(form)
