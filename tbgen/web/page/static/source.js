// The answers of a site without a server: the same documents as a server's, from tables that are files of the host (docs/web.md).

import {Refused} from "../api.js"
import {challenge, puzzle, sample} from "./draws.js"
import {game, games} from "./games.js"
import {QUESTIONS, isView, view} from "./positions.js"
import {list, readJson, tableOf} from "./tables.js"

const GET_ANSWERS = {...QUESTIONS, sample, puzzle, challenge}
const POST_ANSWERS = {game, games}

/** Return the function that answers a question; throw a refusal if the question needs a server. @type {<Answer>(answers: Record<string, Answer>, question: string) => Answer} */
function answering(answers, question) {
    if (!(question in answers)) throw new Refused(404, {code: "not_offered", message: "This needs a server, and this site has none."})
    return answers[question]
}

/** Return the name of the file with an answer about an event (docs/publishing.md). @type {(path: string, question: Question) => string} */
const fileOf = (path, {before}) => (before ? `${path}-${before}` : path).replace(/(\.json)?$/, ".json")

/** Answer a GET request in place of a server. @type {(path: string, question: Question) => Promise<unknown>} */
export async function get(path, parameters) {
    if (path === "tables") return {tables: await list()}
    if (path.startsWith("live/")) return await readJson(fileOf(path, parameters))
    const [rules, question = "", material] = path.split("/")
    if (isView(rules)) return await view(parameters, rules)
    if (question === "stats") return (await tableOf(material, rules)).facts
    return await answering(GET_ANSWERS, question)(parameters, rules)
}

/** Answer a POST request in place of a server. @type {(path: string, body: string | Blob) => Promise<unknown>} */
export async function post(path, body) {
    const [rules, question] = path.split("/")
    return await answering(POST_ANSWERS, question)(typeof body === "string" ? body : await body.text(), rules)
}
