// What boards look and sound like, as the reader likes it; this browser remembers it.

import {keep, kept} from "./kept.js"

const NAME = "tbgen-taste"
const taste = {board: "grey", men: "classic", sound: false, ...kept(NAME)}
const root = document.documentElement
root.dataset.board = taste.board
let audio = null

/** Return the file of the men. */
export const menFile = () => taste.men === "plain" ? "men-plain.svg" : "men.svg"

/** Let it be heard that a move is made, if that is wanted. */
export function tick() {
    if (!taste.sound) return
    audio ??= new AudioContext()
    const [tone, volume] = [audio.createOscillator(), audio.createGain()]
    tone.frequency.value = 520
    volume.gain.setValueAtTime(.15, audio.currentTime)
    volume.gain.exponentialRampToValueAtTime(.001, audio.currentTime + .06)
    tone.connect(volume).connect(audio.destination)
    tone.start()
    tone.stop(audio.currentTime + .06)
}

/** Let it be chosen by two lists and a box. */
export function offerTaste(boards, men, sound) {
    boards.value = taste.board
    men.value = taste.men
    sound.checked = taste.sound
    const take = change => keep(NAME, Object.assign(taste, change))
    boards.addEventListener("change", () => {
        take({board: boards.value})
        root.dataset.board = taste.board
    })
    men.addEventListener("change", () => {
        take({men: men.value})
        location.reload() // boards have their men from the beginning
    })
    sound.addEventListener("change", () => {
        take({sound: sound.checked})
        tick()
    })
}
