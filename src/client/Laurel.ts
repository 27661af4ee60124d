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

/** A client of the operations in `table`. */
export const makeLaurel = (
  table: Table,
  { key, url, fetch: send = fetch, retries = 3, timeoutMs: attemptMs = 30_000 }: LaurelOptions,
): Laurel => {
  let token: Promise<string | undefined> | undefined
  /** The token in use; a new one where `refused` is in use. Calls at the same time share it. */
  const tokenInsteadOf = (refused: typeof token) => {
    if (token === refused) {
      token = (async () => (typeof key === "function" ? key() : key))()
      token.catch(() => {
        token = undefined
      })
    }
    return token
  }

  /** Asks once, and once more with a new token after a 401. */
  const ask = async (
    path: string,
    init: RequestInit,
    headers: Record<string, string>,
    refused?: typeof token,
  ): Promise<Response> => {
    const used = tokenInsteadOf(refused)
    const text = await used
    if (text) headers.authorization = `Bearer ${text}`
    const reply = await send(url.replace(/\/$/, "") + path, { ...init, headers })
    if (reply.status !== 401 || typeof key !== "function" || refused) return reply
    await reply.body?.cancel()
    return ask(path, init, headers, used)
  }

  const call = async (spec: string, args: Array<unknown>): Promise<unknown> => {
    const [method, template, input, keyed] = spec.split(" ") as [string, string, string?, string?]
    let path = `/v1/${template}`.replace(/\*/g, () => segment(args.shift() as string))
    const argument = (input && input !== "-" ? args.shift() : undefined) as object | undefined
    const {
      idempotencyKey,
      headers: more,
      signal,
      timeoutMs = attemptMs,
    } = (args.shift() ?? {}) as KeyedCallOptions
    const headers: Record<string, string> = { ...more }
    const init: RequestInit = { method }
    if (input === "query") path += queryText(argument)
    else if (argument) {
      init.body = JSON.stringify(argument)
      headers["content-type"] = "application/json"
    }
    if (keyed && (idempotencyKey || !hasIds(argument))) {
      headers["idempotency-key"] = idempotencyKey ?? uniqueId()
    }
    for (let repeats = 0; ; repeats++) {
      const late = limit(timeoutMs, signal)
      let failure: LaurelError
      try {
        if (signal?.aborted) throw signal.reason
        const reply = await ask(path, { ...init, signal: late.signal }, headers)
        if (reply.ok) {
          const text = await reply.text()
          return text ? JSON.parse(text) : undefined
        }
        failure = await errorOf(reply)
      } catch (cause) {
        if (signal?.aborted) throw signal.reason ?? cause
        failure = new LaurelError(
          late.signal.aborted ? "timeout" : "connection_failed",
          `No reply from ${url}: ${cause}`,
          { cause },
        )
      } finally {
        late.end()
      }
      const { code, retryAfterSeconds, status } = failure
      const isHarmless =
        status === 429 ||
        unread.test(code) ||
        ((keyed || method === "GET") &&
          (!status || status === 408 || status > 501 || code === "idempotency_in_progress"))
      const delayMs = firstDelayMs * 2 ** repeats
      const waitMs = retryAfterSeconds ? retryAfterSeconds * 1_000 : delayMs
      if (!isHarmless || repeats >= retries || waitMs > longestWaitMs) throw failure
      await pause(waitMs + Math.random() * delayMs, signal)
    }
  }

  const stream = async function* ({ after, onState, signal, ...query }: StreamOptions = {}) {
    const path = `/v1/stream${queryText(query)}`
    const open = (headers: Record<string, string>, attempt: AbortSignal) =>
      ask(path, { signal: attempt }, headers)
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
