// "How it works": five positions in which the visitor makes a move.

import {$, onPlainClick} from "./browser.js"
import {moverOf} from "./position.js"
import {opponentHas, scoreNodes} from "./score.js"

export const LESSONS = [
    {
        name: "Mate", fen: "k7/8/1K6/8/8/8/8/7R w - - 0 1", accrued: null, goal: "h1h8",
        task: "What counts is how few legal moves you leave your opponent. Mate leaves none, in check: G0.0, the whole point. White to move: mate in one.",
        right: "Mate: G0.0, and White has 1 : 0.",
    },
    {
        name: "Stalemate", fen: "4k3/4P3/3K4/8/8/8/8/8 w - - 0 1", accrued: null, goal: "d6e6",
        task: "In chess stalemate is a draw. Here it is the next best thing: G0.5, three quarters of the point. Leave Black without a move.",
        right: "Stalemate: G0.5, and White has 0.75 : 0.25.",
    },
    {
        name: "One move, in check", fen: "8/8/8/8/8/8/8/k1K1N3 w - - 0 1", accrued: null, goal: "e1c2",
        task: "If there is neither, the number of legal moves that you leave your opponent counts, and half a move more if he is not in check. Give check and leave Black one move: G1.0.",
        right: "Black is in check and has one legal move: G1.0. A lone knight cannot mate, and White is ahead all the same, 0.625 : 0.375.",
    },
    {
        name: "The first counts", fen: "8/8/1n6/8/8/8/8/k1K1B3 w - - 4 40", accrued: "-G1.0", goal: "e1c3",
        task: "In this game White was in check once, with one legal move: Black holds -G1.0 (the minus is Black's). Do the same to Black.",
        right: "Black is in check with one legal move, too, and still the score is -G1.0: of equal scores the first counts. Only a lower count would beat it.",
    },
    {
        name: "A capture resets", fen: "k1K5/8/8/6n1/5B2/8/8/8 w - - 4 40", accrued: "-G1.0", goal: "f4g5",
        task: "Again Black holds -G1.0. But after a capture or a pawn move the count begins anew. What does White play?",
        right: "The capture ends what Black had. Black is left with one move, not in check: G1.5 for White.",
    },
]

/** Return `fen` and `accrued` of a lesson, by its number from 1; an empty object if it does not exist. @type {(lesson: number) => Partial<Start>} */
export function positionOf(lesson) {
    const {fen, accrued} = LESSONS[lesson - 1] ?? {}
    return fen ? {fen, accrued} : {}
}

export class Guide {
    /** @param {(lesson: number) => void} onGo called with the number of the lesson to show, from 1; 0 for none */ constructor(onGo) {
        this.lesson = 0
        /** A wrong move that has not been explained yet; null if there is none. */
        this.missed = null
        const buttons = {close: () => 0, back: () => this.lesson - 1, on: () => (this.lesson + 1) % (LESSONS.length + 1), again: () => this.lesson}
        $("guide-link").addEventListener("click", onPlainClick(() => onGo(1)))
        for (const [name, wanted] of Object.entries(buttons)) {
            $(`guide-${name}`).addEventListener("click", () => {
                const lesson = wanted()
                onGo(lesson)
                if (!lesson) $("guide-link").focus({preventScroll: true})
            })
        }
    }

    /** Show the task of a lesson, or the reply to a `move` that was made in it. Parts of the page that would give the solution away are hidden. @type {(lesson: number, move?: Ply) => void} */
    show(lesson, move = null) {
        const told = LESSONS[lesson - 1]
        this.lesson = told ? lesson : 0
        this.missed = told && move && move.uci !== told.goal ? move : null
        $("guide").hidden = !told
        document.documentElement.classList.toggle("guided", Boolean(told))
        document.body.classList.toggle("guiding", Boolean(told) && !move)
        if (!told) return
        const {name, task, right} = told
        $("guide-label").textContent = `${lesson} of ${LESSONS.length}: ${name}`
        $("guide-text").replaceChildren(...scoreNodes(!move ? task : this.missed ? `Not ${move.san}. ${task}` : right))
        $("guide-back").disabled = lesson === 1
        $("guide-on").textContent = lesson === LESSONS.length ? "Done" : "Next"
        $("guide-again").hidden = !this.missed
    }

    /** Explain a wrong move instead of showing the task, from the answer about the position after the move. @type {(answer: Pick<Answer, "fen" | "accrued" | "position_score">) => void} */
    tell({fen, accrued, position_score: positionScore}) {
        if (!this.missed) return
        $("guide-text").replaceChildren(...scoreNodes(`Not ${this.missed.san}. ${moverOf(fen)} ${opponentHas(positionScore)}, ${positionScore}${accrued === positionScore ? "" : `: ${accrued} still counts`}.`))
        this.missed = null
    }
}
