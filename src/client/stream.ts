/**
 * Follows a stream of Server-Sent Events over `fetch`. After an interruption the stream resumes
 * after the last complete event, so no event is missed or repeated. Before the first event it
 * resumes after the event `after`.
 *
 * `EventSource` does not fit: it gives up at the first reply other than 200, such as the 503 of a
 * restart, and cannot send a key.
 */
import { errorOf } from "./LaurelError.ts"
import { limit, pause } from "./limit.ts"

/** The state of a stream's connection, as `onState` reports it. */
export type StreamState =
  | { readonly kind: "connecting" | "open" }
  /** The connection failed. The next attempt starts after `delayMs` milliseconds. */
  | { readonly kind: "waiting"; readonly delayMs: number }

export interface FollowOptions {
  /**
   * The id of a message: the stream starts with the message after it. Default: the stream starts
   * now.
   */
  readonly after?: string | undefined
  /** Ends the stream. */
  readonly signal?: AbortSignal | undefined
  /** Called at each change of the connection's state. */
  readonly onState?: ((state: StreamState) => void) | undefined
  /** Waits for `ms` milliseconds. Tests replace it. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

const firstDelayMs = 1_000
const longestDelayMs = 5_000
/**
 * The server sends a heartbeat every 15 seconds. After three missing ones the connection counts as
 * dead.
 */
const silenceMs = 45_000

/**
 * Yields the data of the events as they arrive, until `signal` aborts. Retries after a failed
 * connection, a 429 and a 5xx. Throws any other error reply: `gone` if the server no longer has the
 * events after the last one.
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
            // An event without data only moves the position of the stream.
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
      // The connection was interrupted or refused. The loop tries again.
    } finally {
      silence.end()
    }
    if (signal?.aborted) return
    if (refusal) throw refusal
    // The random part keeps all clients from reconnecting to a restarted server at once.
    const waitMs = Math.max(retryAfterMs, delayMs * (0.5 + Math.random() / 2))
    onState?.({ kind: "waiting", delayMs: waitMs })
    await sleep(waitMs, signal)
    delayMs = Math.min(2 * delayMs, longestDelayMs)
  }
}
