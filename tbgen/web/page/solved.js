// How many puzzles have been solved.

import {keep, kept} from "./kept.js"

const NAME = "tbgen-puzzles-solved"

export const counted = () => Number(kept(NAME)) || 0

/** Count one more. */
export const count = () => keep(NAME, counted() + 1)
