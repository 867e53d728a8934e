// How it works: five positions, played by clicking.

import {$} from "./dom.js"

export const LESSONS = [
    {
        name: "Mate", fen: "k7/8/1K6/8/8/8/8/7R w - - 0 1", accrued: null, goal: "h1h8",
        task: "Mate is the best there is, as in chess: G0.0, the whole point. White to move: mate in one.",
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
        name: "A capture resets", fen: "1n6/2B5/8/8/8/8/8/k1K5 w - - 4 40", accrued: "-G1.0", goal: "c7b8",
        task: "Again Black holds -G1.0. But after a capture or a pawn move the count begins anew. What does White play?",
        right: "The capture ends what Black had. Black is left with one move, not in check: G1.5 for White.",
    },
]

export class Guide {
    /** @param {(fen: string, accrued: string) => void} onShow told of the position to show, with what has accrued */
    constructor(onShow) {
        this.onShow = onShow
        $("how").addEventListener("click", () => $("guide").hidden ? this.begin(0) : this.close())
        $("guide-close").addEventListener("click", () => this.close())
        $("guide-back").addEventListener("click", () => this.begin(this.number - 1))
        $("guide-on").addEventListener("click", () => this.begin(this.number + 1))
        $("guide-again").addEventListener("click", () => this.begin(this.number))
    }

    begin(number) {
        if (number === LESSONS.length) {
            this.close()
            return
        }
        this.number = number
        const {name, task, fen, accrued} = LESSONS[number]
        $("guide").hidden = false
        document.body.classList.add("guided")
        $("how").setAttribute("aria-expanded", "true")
        $("guide-label").textContent = `${number + 1} of ${LESSONS.length}: ${name}`
        $("guide-text").textContent = task
        $("guide-back").disabled = number === 0
        $("guide-on").textContent = number === LESSONS.length - 1 ? "Done" : "Next"
        this.ask(true)
        this.onShow(fen, accrued)
    }

    /** Hide what would give a task away while it is open. */
    ask(open) {
        document.body.classList.toggle("guiding", open)
        $("guide-again").hidden = true
    }

    close() {
        this.ask(false)
        $("guide").hidden = true
        document.body.classList.remove("guided")
        $("how").setAttribute("aria-expanded", "false")
        $("how").focus({preventScroll: true})
    }

    /** Say whether a move, made in the position with a FEN, is the one that a lesson asks for. */
    moved(fen, move) {
        if ($("guide").hidden || fen !== LESSONS[this.number].fen) return
        const {goal, right, task} = LESSONS[this.number]
        const found = move.uci === goal
        $("guide-text").textContent = found ? right : `Not ${move.san}. ${task}`
        this.ask(false)
        $("guide-again").hidden = found
    }
}
