// What a site without a server answers: the same documents, from tables that are files of the host (docs/web.md).

import {Refused} from "../api.js"
import {challenge, puzzle, sample} from "./draws.js"
import {game, games} from "./games.js"
import {QUESTIONS, isView, view} from "./positions.js"
import {list, readJson, tableOf} from "./tables.js"

const ASKED = {...QUESTIONS, sample, puzzle, challenge}
const SENT = {game, games}

/** Return what answers, if it needs no server. @type {<Answer>(answers: Record<string, Answer>, question: string) => Answer} */
function answering(answers, question) {
    if (!(question in answers)) throw new Refused(404, {code: "not_offered", message: "This takes a server, and the page is on a site without one."})
    return answers[question]
}

/** Return the file that has an answer about an event, docs/publishing.md. @type {(path: string, question: Question) => string} */
const fileOf = (path, {before}) => (before ? `${path}-${before}` : path).replace(/(\.json)?$/, ".json")

/** Answer what a server is asked by GET. @type {(path: string, question: Question) => Promise<unknown>} */
export async function get(path, parameters) {
    if (path === "tables") return {tables: await list()}
    if (path.startsWith("live/")) return await readJson(fileOf(path, parameters))
    const [rules, question = "", material] = path.split("/")
    if (isView(rules)) return await view(parameters, rules)
    if (question === "stats") return (await tableOf(material, rules)).facts
    return await answering(ASKED, question)(parameters, rules)
}

/** Answer what a server is sent by POST. @type {(path: string, body: string | Blob) => Promise<unknown>} */
export async function post(path, body) {
    const [rules, question] = path.split("/")
    return await answering(SENT, question)(typeof body === "string" ? body : await body.text(), rules)
}
