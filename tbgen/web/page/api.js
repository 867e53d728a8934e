// Asking the server, or on a site without one the tables. Answers that hold are remembered; docs/web.md describes them.

const MOST_REMEMBERED = 500
const remembered = new Map()

/** Return what a map has under a key, or is to have; what fails is forgotten, and the oldest if there are more than so many. */
export function cached(map, key, make, most = Infinity) {
    if (!map.has(key)) {
        if (map.size >= most) map.delete(map.keys().next().value)
        map.set(key, make())
        map.get(key).catch(() => map.delete(key))
    }
    return map.get(key)
}

/** What the server refuses: `code` for programs, `message` for people. */
export class Refused extends Error {
    constructor(status, document) {
        super(document.message)
        this.status = status
        this.code = document.code
    }
}

/** Return the refusal of what makes no sense. */
export const badInput = message => new Refused(400, {code: "bad_input", message})

/** Ask by GET; parameters that are null or empty are left out. */
export async function ask(path, parameters = {}) {
    const asked = () => fresh(path, parameters)
    return await (path.endsWith("/sample") ? asked() : cached(remembered, addressOf(path, parameters), asked, MOST_REMEMBERED))
}

/** Ask by GET for what changes. */
export const fresh = async (path, parameters = {}) => (await source).get(path, parameters)

function addressOf(path, parameters) {
    const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "")
    const query = new URLSearchParams(given).toString()
    return query ? `${path}?${query}` : path
}

/** Ask by POST. */
export const post = async (path, body) => (await source).post(path, body)

const server = {
    get: (path, parameters) => answer(fetch(addressOf(path, parameters))),
    post: (path, body) => answer(fetch(path, {method: "POST", body})),
}
/** Whether the page is on a site without a server. */
export const isStatic = document.documentElement.dataset.static !== undefined

/** What answers: `get(path, parameters)` and `post(path, body)` return documents, or refuse. */
const source = isStatic ? import("./static/source.js") : server

async function answer(fetching) {
    let response
    try {
        response = await fetching
    } catch {
        throw new Refused(0, {code: "unreachable", message: "The server does not answer: is it still running?"})
    }
    const document = await response.json().catch(() => ({code: "failed", message: "The server's answer is broken."}))
    if (!response.ok) throw new Refused(response.status, document)
    return document
}

/** Do something that may be refused; say why where there is room, and return it. */
export async function attempt(element, call) {
    element.textContent = ""
    try {
        await call()
    } catch (error) {
        if (!(error instanceof Refused)) throw error
        element.textContent = error.message
        return error
    }
    return null
}
