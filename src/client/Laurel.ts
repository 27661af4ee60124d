/**
 * The client: a function for each operation of the declaration. A call is repeated only where a repeat changes nothing:
 * a GET, a write with ids of its own (`id`) or with an `Idempotency-Key`, and any call that the server refused unread
 * (429, `overloaded`, `starting`, `shutting_down`). The key of a repeat is the key of the first attempt.
 */
import type { KeyedCallOptions } from "./CallOptions.ts"
import type { operations } from "./generated/operations.ts"
import type { Message, Operations, StreamQuery } from "./generated/types.ts"
import { errorOf, LaurelError } from "./LaurelError.ts"
import { limit, pause } from "./limit.ts"
import { type FollowOptions, follow } from "./stream.ts"
import { uniqueId } from "./uniqueId.ts"

export interface LaurelOptions {
  /** The server's address, such as `https://laurel.example`. */
  readonly url: string
  /** A key or a user token; a function returns it, and is asked again after a 401. */
  readonly key?: string | (() => string | Promise<string>)
  /** Milliseconds for each attempt of a call. Default: 30,000, since a batch may wait 20 seconds for room. */
  readonly timeoutMs?: number
  /** Maximum number of repeats of a call. Default: 3. */
  readonly retries?: number
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch
}

export interface StreamOptions extends Omit<FollowOptions, "sleep">, StreamQuery {}

export interface Laurel extends Operations {
  /**
   * The messages as they come, until `signal` aborts. Resumes after cuts and restarts of the server: no message is missed or
   * repeated. Throws a `LaurelError` where the server refuses: `gone` where it no longer has the messages after the last one.
   */
  stream(options?: StreamOptions): AsyncGenerator<Message, void, undefined>
}

/** The longest `Retry-After` that a call waits for; a longer one is the caller's to wait for. */
const longestWaitMs = 30_000
const firstDelayMs = 250
/** The codes `overloaded`, `starting` and `shutting_down`. */
const unread = /^(overl|start|shutt)/

interface Identified {
  readonly id?: unknown
}

/** Whether an event or reward has an id of the caller's own, or all events of a batch have one. */
const hasIds = (body?: Identified & { readonly events?: ReadonlyArray<Identified> }): boolean =>
  (body?.events ?? [body]).every((one) => one?.id)

/** A segment of a path. Browsers resolve dots, and no id is empty: both would ask for something else. */
const segment = (id: string): string => {
  if (/^\.{0,2}$/.test(id)) throw new TypeError(`No path can hold the id "${id}"`)
  return encodeURIComponent(id)
}

/** As JSON, an object has no members that are undefined. */
const queryText = (query: object = {}): string =>
  `?${new URLSearchParams(JSON.parse(JSON.stringify(query)))}`

/** The table of operations, or a part of it. */
export type Table = { readonly [G in keyof typeof operations]?: Partial<(typeof operations)[G]> }

/** What `fetch` takes, with headers that can be changed. */
interface Init extends RequestInit {
  readonly headers: Record<string, string>
}

/** Path, request, options, and whether the call is repeatable: a GET, or a write with an id or key. */
type Call = [path: string, init: Init, options: KeyedCallOptions, repeatable: unknown]

/** `spec` is a row of `operations`: method, path, place of the input, and whether a key makes it repeatable. */
const callOf = (spec: string, args: Array<unknown>): Call => {
  const [method, template, input, keyed] = spec.split(" ") as [string, string, string?, string?]
  let path = `/v1/${template}`.replace(/\*/g, () => segment(args.shift() as string))
  const argument = (input && input !== "-" ? args.shift() : undefined) as object | undefined
  const options = (args.shift() ?? {}) as KeyedCallOptions
  const headers: Record<string, string> = { ...options.headers }
  const init: Init = { method, headers }
  if (input === "query") path += queryText(argument)
  else if (argument) {
    init.body = JSON.stringify(argument)
    headers["content-type"] = "application/json"
  }
  const { idempotencyKey } = options
  if (keyed && (idempotencyKey || !hasIds(argument))) {
    headers["idempotency-key"] = idempotencyKey ?? uniqueId()
  }
  return [path, init, options, keyed ?? method === "GET"]
}

/** Whether a repeat after this failure changes nothing that the first attempt may have changed. */
const isHarmless = ({ code, status }: LaurelError, repeatable: unknown): unknown =>
  status === 429 ||
  unread.test(code) ||
  (repeatable && (!status || status === 408 || status > 501 || code === "idempotency_in_progress"))

type Token = Promise<string | undefined> | undefined

/** Returns the token in use; a new one where `refused` is in use. Calls at the same time share it. */
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

/** A client of the operations in `table`. */
export const makeLaurel = (
  table: Table,
  { key, url, fetch: send = fetch, retries = 3, timeoutMs: attemptMs = 30_000 }: LaurelOptions,
): Laurel => {
  const tokenInsteadOf = tokens(key)

  /** Asks once, and once more with a new token after a 401. */
  const ask = async (path: string, init: Init, refused?: Token): Promise<Response> => {
    const used = tokenInsteadOf(refused)
    const text = await used
    if (text) init.headers.authorization = `Bearer ${text}`
    const reply = await send(url.replace(/\/$/, "") + path, init)
    if (reply.status !== 401 || typeof key !== "function" || refused) return reply
    await reply.body?.cancel()
    return ask(path, init, used)
  }

  /** The value of the reply in an array, or the failure. Throws only the reason of the caller's `signal`. */
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
    mapValues(
      specs,
      (spec) =>
        (...args: Array<unknown>) =>
          call(spec, args),
    ),
  )
  return { ...groups, stream } as unknown as Laurel
}

const mapValues = <A, B>(object: { readonly [name: string]: A }, change: (value: A) => B) =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]))
