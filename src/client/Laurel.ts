/**
 * The client: a function for each operation of the API declaration.
 *
 * Invariant: the client repeats a call only if the repeat cannot apply a write twice. These calls
 * qualify: a GET, a write whose items have an `id` of the caller, a write with an
 * `Idempotency-Key`, and any call that the server refused before it read the request (429,
 * `overloaded`, `starting`, `shutting_down`). All attempts of a call send the same key.
 */
import type { ChangeCallOptions, KeyedCallOptions } from "./CallOptions.ts"
import type { operations } from "./generated/operations.ts"
import type { Message, Operations, StreamQuery } from "./generated/types.ts"
import { errorOf, LaurelError } from "./LaurelError.ts"
import { limit, pause } from "./limit.ts"
import { type FollowOptions, follow } from "./stream.ts"
import { uniqueId } from "./uniqueId.ts"

/** Options of `createLaurel`. */
export interface LaurelOptions {
  /** The URL of the server, such as `https://laurel.example`. */
  readonly url: string
  /**
   * An API key or a user token. A function returns it, or a promise of it: the client calls the
   * function before the first request, and once more after a 401. Concurrent calls share one
   * result.
   */
  readonly key?: string | (() => string | Promise<string>)
  /**
   * Time limit of each attempt of a call, in milliseconds. Default: 30,000, because the server may
   * hold a batch for 20 seconds while it is busy.
   */
  readonly timeoutMs?: number
  /** Maximum number of repeats of a call. Default: 3. */
  readonly retries?: number
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch
}

/** Options of `laurel.stream`: which messages, from where, and how long. */
export interface StreamOptions extends Omit<FollowOptions, "sleep">, StreamQuery {}

/**
 * A client of one server. Each operation is `laurel.<group>.<name>(…ids, body or query, options)`.
 * Its promise resolves with the JSON body of the reply, and rejects with a `LaurelError`; if
 * `options.signal` aborts, with the reason of the signal. It rejects with a `TypeError` for an id
 * that no URL can hold: an empty id, `.` or `..`.
 *
 * ```ts
 * const { xp, level } = await laurel.events.track({ userId: "ada", action: "LESSON_DONE" })
 * const { entries } = await laurel.leaderboard.get({ window: "weekly", limit: 10 })
 * ```
 *
 * The promise of a list is of one page. `for await` over it yields the items of that page and of all
 * pages after it, and requests each page when its first item is needed.
 *
 * ```ts
 * for await (const user of laurel.users.list({ limit: 100 })) console.log(user.id, user.xp)
 * ```
 */
export interface Laurel extends Operations {
  /**
   * Yields messages as they happen, until `signal` aborts; then the loop ends without an error. The
   * stream resumes after interruptions and restarts of the server, without a gap and without a
   * repeat. It throws a `LaurelError` if the server refuses: `gone` if the server no longer has the
   * messages after the last one received.
   *
   * ```ts
   * for await (const { type, data } of laurel.stream({ userId: "ada", signal })) show(type, data)
   * ```
   */
  stream(options?: StreamOptions): AsyncGenerator<Message, void, undefined>
}

/**
 * The longest `Retry-After` that the client waits for. After a longer one the call rejects at once.
 */
const longestWaitMs = 30_000
const firstDelayMs = 250
/**
 * Matches the codes `overloaded`, `starting` and `shutting_down`: the server did not read the
 * request.
 */
const unread = /^(overl|start|shutt)/

interface Identified {
  readonly id?: unknown
}

/** Whether the item, or every event of a batch, has an `id` of the caller. */
const hasIds = (body?: Identified & { readonly events?: ReadonlyArray<Identified> }): boolean =>
  (body?.events ?? [body]).every((one) => one?.id)

/**
 * A path segment. URLs drop `.` and `..` and an empty segment, so such an id would name another
 * resource.
 */
const segment = (id: string): string => {
  if (/^\.{0,2}$/.test(id)) throw new TypeError(`No path can hold the id "${id}"`)
  return encodeURIComponent(id)
}

/** The query string. The detour through JSON drops undefined members. */
const queryText = (query: object = {}): string =>
  `?${new URLSearchParams(JSON.parse(JSON.stringify(query)))}`

/** A page of a list. */
interface Page {
  readonly hasMore?: boolean
  readonly nextCursor?: string | null
}

/** The table of operations, or a subset. */
export type Table = { readonly [G in keyof typeof operations]?: Partial<(typeof operations)[G]> }

/** The options of `fetch`, with mutable headers. */
interface Init extends RequestInit {
  readonly headers: Record<string, string>
}

/** `repeatable` is truthy for a GET and for a write with an id or a key. */
type Call = [path: string, init: Init, options: ChangeCallOptions, repeatable: unknown]

/**
 * `spec` is a row of `operations`: method, path, place of the input, and whether the operation
 * takes a key.
 */
const callOf = (spec: string, args: Array<unknown>): Call => {
  const [method, template, input, keyed] = spec.split(" ") as [string, string, string?, string?]
  let path = `/v1/${template}`.replace(/\*/g, () => segment(args.shift() as string))
  const argument = (input && input !== "-" ? args.shift() : undefined) as object | undefined
  const options = (args.shift() ?? {}) as ChangeCallOptions
  const headers: Record<string, string> = { ...options.headers }
  const init: Init = { method, headers }
  if (input === "query") path += queryText(argument)
  else if (argument) {
    init.body = JSON.stringify(argument)
    headers["content-type"] = "application/json"
  }
  const { idempotencyKey, ifMatch } = options
  if (ifMatch) headers["if-match"] = `"${ifMatch}"`
  if (keyed && (idempotencyKey || !hasIds(argument))) {
    headers["idempotency-key"] = idempotencyKey ?? uniqueId()
  }
  return [path, init, options, keyed ?? method === "GET"]
}

/** Whether the call can be repeated after this failure without applying a write twice. */
const isHarmless = ({ code, status }: LaurelError, repeatable: unknown): unknown =>
  status === 429 ||
  unread.test(code) ||
  (repeatable && (!status || status === 408 || status > 501 || code === "idempotency_in_progress"))

type Token = Promise<string | undefined> | undefined

/**
 * Returns the present token, or requests a new one if the present one is `refused`. Concurrent
 * calls share it.
 */
const tokens = (key: LaurelOptions["key"]) => {
  let token: Token
  return (refused: Token) => {
    if (token === refused) {
      token = (async () => (typeof key === "function" ? key() : key))()
      token.catch(() => {
        token = undefined
      })
    }
    return token
  }
}

/**
 * Yields the items of a page of a list, and of the pages after it that `call` requests. The items
 * are the first array of a page.
 */
const itemsFrom = async function* (
  call: (spec: string, args: Array<unknown>) => Promise<unknown>,
  spec: string,
  args: Array<unknown>,
  page: Promise<unknown>,
) {
  const place = spec.split("*").length - 1
  for (;;) {
    const { hasMore, nextCursor, ...members } = (await page) as Page
    yield* Object.values(members).find(Array.isArray)!
    if (!hasMore) return
    const query = { ...(args[place] as object), cursor: nextCursor }
    page = call(spec, [...args.slice(0, place), query, args[place + 1]])
  }
}

/** Creates a client that has only the operations in `table`. */
export const makeLaurel = (
  table: Table,
  { key, url, fetch: send = fetch, retries = 3, timeoutMs: attemptMs = 30_000 }: LaurelOptions,
): Laurel => {
  const tokenInsteadOf = tokens(key)

  /** Sends the request; after a 401 sends it once more with a new token. */
  const ask = async (path: string, init: Init, refused?: Token): Promise<Response> => {
    const used = tokenInsteadOf(refused)
    const text = await used
    if (text) init.headers.authorization = `Bearer ${text}`
    const reply = await send(url.replace(/\/$/, "") + path, init)
    if (reply.status !== 401 || typeof key !== "function" || refused) return reply
    await reply.body?.cancel()
    return ask(path, init, used)
  }

  /** The body of the reply in an array, or the failure. Throws only the reason of `signal`. */
  const attempt = async (
    path: string,
    init: Init,
    { signal, timeoutMs = attemptMs }: KeyedCallOptions,
  ): Promise<[value?: unknown] | LaurelError> => {
    const late = limit(timeoutMs, signal)
    try {
      if (signal?.aborted) throw signal.reason
      const reply = await ask(path, { ...init, signal: late.signal })
      if (!reply.ok) return await errorOf(reply)
      const text = await reply.text()
      return text ? [JSON.parse(text)] : []
    } catch (cause) {
      if (signal?.aborted) throw signal.reason ?? cause
      return new LaurelError(
        late.signal.aborted ? "timeout" : "connection_failed",
        `No reply from ${url}: ${cause}`,
        { cause },
      )
    } finally {
      late.end()
    }
  }

  const call = async (spec: string, args: Array<unknown>): Promise<unknown> => {
    const [path, init, options, repeatable] = callOf(spec, args)
    for (let repeats = 0; ; repeats++) {
      const outcome = await attempt(path, init, options)
      if (Array.isArray(outcome)) return outcome[0]
      const delayMs = firstDelayMs * 2 ** repeats
      const { retryAfterSeconds } = outcome
      const waitMs = retryAfterSeconds ? retryAfterSeconds * 1_000 : delayMs
      if (!isHarmless(outcome, repeatable) || repeats >= retries || waitMs > longestWaitMs) {
        throw outcome
      }
      await pause(waitMs + Math.random() * delayMs, options.signal)
    }
  }

  const stream = async function* ({ after, onState, signal, ...query }: StreamOptions = {}) {
    const path = `/v1/stream${queryText(query)}`
    const open = (headers: Record<string, string>, attempt: AbortSignal) =>
      ask(path, { signal: attempt, headers })
    for await (const text of follow(open, { after, onState, signal })) yield JSON.parse(text)
  }
  const groups = mapValues(table, (specs) =>
    mapValues(specs, (spec) => (...args: Array<unknown>) => {
      const page = call(spec, [...args])
      return Object.assign(page, {
        [Symbol.asyncIterator]: () => itemsFrom(call, spec, args, page),
      })
    }),
  )
  return { ...groups, stream } as unknown as Laurel
}

const mapValues = <A, B>(object: { readonly [name: string]: A }, change: (value: A) => B) =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]))
