/**
 * Follows a stream of Server-Sent Events over `fetch`. After a cut it resumes behind the last complete event, so none is
 * missed or repeated; before the first event it resumes behind `after`.
 *
 * Not `EventSource`: that ends for good at the first reply that is not a 200, such as the 503 of a restart, and sends no key.
 */
import { errorOf } from "./LaurelError.ts"
import { limit, pause } from "./limit.ts"

export type StreamState =
  | { readonly kind: "connecting" | "open" }
  /** The next try is in so many milliseconds. */
  | { readonly kind: "waiting"; readonly delayMs: number }

export interface FollowOptions {
  /** The id of an event behind which the stream begins; without it, it begins now. */
  readonly after?: string | undefined
  /** Ends the stream. */
  readonly signal?: AbortSignal | undefined
  readonly onState?: ((state: StreamState) => void) | undefined
  /** Waits; a test replaces it. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

const firstDelayMs = 1_000
const longestDelayMs = 5_000
/** Three heartbeats of the server without a byte: the connection is dead. */
const silenceMs = 45_000

/**
 * The data of the events as they come, until `signal` aborts. Throws the server's refusal: `gone` where the server no longer has
 * the events after the last one. Failed connections, 429 and 5xx are tried again.
 */
export async function* follow(
  open: (headers: Record<string, string>, signal: AbortSignal) => Promise<Response>,
  { after, onState, signal, sleep = pause }: FollowOptions = {},
): AsyncGenerator<string, void, undefined> {
  let delayMs = firstDelayMs
  while (!signal?.aborted) {
    onState?.({ kind: "connecting" })
    const silence = limit(silenceMs, signal)
    let retryAfterMs = 0
    let refusal: unknown
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" }
      if (after) headers["last-event-id"] = after
      const reply = await open(headers, silence.signal)
      if (reply.ok) {
        onState?.({ kind: "open" })
        const reader = reply.body!.getReader()
        const decoder = new TextDecoder()
        let rest = ""
        let [id, text] = ["", ""]
        for (;;) {
          const { done, value } = await reader.read()
          if (done) break
          silence.restart()
          const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/)
          rest = lines.pop()!
          for (const line of lines) {
            const [, field, content = ""] = /^(\w+): ?(.*)/s.exec(line) ?? []
            if (field === "id") id = content
            if (field === "data") text += content
            if (line !== "") continue
            if (signal?.aborted) return
            delayMs = firstDelayMs
            after = id || after
            // One without data has only its id, the position of the stream.
            if (text !== "") yield text
            id = text = ""
          }
        }
      } else {
        const error = await errorOf(reply)
        retryAfterMs = (error.retryAfterSeconds ?? 0) * 1_000
        if (error.status < 500 && error.status !== 429) refusal = error
      }
    } catch {
      // A cut, or no server: the next try follows.
    } finally {
      silence.end()
    }
    if (signal?.aborted) return
    if (refusal) throw refusal
    // Spread, so that a restarted server does not meet all its clients at once.
    const waitMs = Math.max(retryAfterMs, delayMs * (0.5 + Math.random() / 2))
    onState?.({ kind: "waiting", delayMs: waitMs })
    await sleep(waitMs, signal)
    delayMs = Math.min(2 * delayMs, longestDelayMs)
  }
}
