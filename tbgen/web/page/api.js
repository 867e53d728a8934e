// Requests to the server or, on a site without a server, to its tables. Answers that do not change are cached. docs/web.md describes all answers.

const MAX_CACHED = 500
const cache = new Map()

/** Return the promise that a map has for a key; make it if it is missing. A failed promise is removed, and so is the oldest one if there are more than `most`. @type {<Found>(map: Map<string, Promise<Found>>, key: string, make: () => Promise<Found>, most?: number) => Promise<Found>} */
export function cached(map, key, make, most = Infinity) {
    if (!map.has(key)) {
        if (map.size >= most) map.delete(map.keys().next().value)
        map.set(key, make())
        map.get(key).catch(() => map.delete(key))
    }
    return map.get(key)
}

/** A refusal of the server: `code` for programs, `message` for people. */
export class Refused extends Error {
    /** @param {number} status @param {RefusalDocument} document */ constructor(status, document) {
        super(document.message)
        this.status = status
        this.code = document.code
    }
}

/** Return the refusal of invalid input. @type {(message: string) => Refused} */
export const badInput = message => new Refused(400, {code: "bad_input", message})

/** Send a GET request, or return its cached answer. Parameters that are null or empty are omitted. @type {<Path extends string>(path: Path, parameters?: Question) => Promise<AnswerTo<Path>>} */
export async function ask(path, parameters = {}) {
    const request = () => fresh(path, parameters)
    return await (path.endsWith("/sample") ? request() : cached(cache, addressOf(path, parameters), request, MAX_CACHED))
}

/** Send a GET request without caching the answer, which may change. @type {<Path extends string>(path: Path, parameters?: Question) => Promise<AnswerTo<Path>>} */
export const fresh = async (path, parameters = {}) => /** @type {AnswerTo<typeof path>} */ (await (await source).get(path, parameters))

/** @type {(path: string, parameters: Question) => string} */ function addressOf(path, parameters) {
    const present = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "")
    const query = new URLSearchParams(present).toString()
    return query ? `${path}?${query}` : path
}

/** Send a POST request. @type {<Path extends string>(path: Path, body: string | Blob) => Promise<PostedTo<Path>>} */
export const post = async (path, body) => /** @type {PostedTo<typeof path>} */ (await (await source).post(path, body))

/** The source of answers: a server or a static site's tables. @typedef {{get: (path: string, question: Question) => Promise<unknown>, post: (path: string, body: string | Blob) => Promise<unknown>}} Source */

/** @type {Source} */ const server = {
    get: (path, parameters) => answer(fetch(addressOf(path, parameters))),
    post: (path, body) => answer(fetch(path, {method: "POST", body})),
}
/** Whether the page is on a site without a server. */
export const isStatic = document.documentElement.dataset.static !== undefined

/** The page's source: `get(path, parameters)` and `post(path, body)` return documents, or throw a refusal. @type {Source | Promise<Source>} */
const source = isStatic ? import("./static/source.js") : server

/** @type {(fetching: Promise<Response>) => Promise<unknown>} */ async function answer(fetching) {
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

/** Call a function whose requests may be refused. Show the message of a refusal in an element, and return the refusal; null if there is none. @type {(element: HTMLElement, call: () => unknown) => Promise<Refused>} */
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
