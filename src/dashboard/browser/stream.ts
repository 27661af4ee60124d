/**
 * Follows a stream of Server-Sent Events over `fetch` until it is aborted or refused. After a cut it resumes behind the
 * last complete event, so none is missed or delivered twice; before the first event it resumes behind `after`.
 *
 * Not `EventSource`: that ends for good at the first reply that is not a 200, such as the 503 of a restart.
 */
export interface StreamEvent {
  readonly id: string
  readonly type: string
  /** Its data, JSON for streams of Laurel. */
  readonly text: string
}

export type StreamState =
  | { readonly kind: "connecting" | "open" }
  /** The next try is in so many milliseconds. */
  | { readonly kind: "waiting"; readonly delayMs: number }
  /** The server no longer has the events after the last one; the stream continues from now. */
  | { readonly kind: "gap" }
  /** Refused for good: a redirect (to sign in) has status 0. */
  | { readonly kind: "refused"; readonly status: number }

export interface StreamOptions {
  readonly open: (headers: Record<string, string>, signal: AbortSignal) => Promise<Response>
  /** The id of an event behind which the stream begins; without it, it begins now. */
  readonly after?: string | undefined
  readonly onEvent: (event: StreamEvent) => void
  readonly onState: (state: StreamState) => void
  readonly signal: AbortSignal
  /** Waits; a test replaces it. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
}

const firstDelayMs = 1_000
const longestDelayMs = 5_000
/** Three heartbeats of the server without a byte: the connection is dead. */
const silenceMs = 45_000

export const followStream = async (options: StreamOptions): Promise<void> => {
  const { onEvent, onState, open, signal, sleep = wait } = options
  let { after } = options
  let delayMs = firstDelayMs
  while (!signal.aborted) {
    onState({ kind: "connecting" })
    const attempt = new AbortController()
    const abort = () => attempt.abort()
    signal.addEventListener("abort", abort)
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" }
      if (after !== undefined) headers["Last-Event-ID"] = after
      const reply = await open(headers, attempt.signal)
      if (reply.ok && reply.body !== null) {
        onState({ kind: "open" })
        await readEvents(reply.body, attempt, (event) => {
          delayMs = firstDelayMs
          if (event.id !== "") after = event.id
          if (event.text !== "") onEvent(event)
        })
      } else if (reply.status === 410 && after !== undefined) {
        after = undefined
        onState({ kind: "gap" })
        continue
      } else if (reply.status < 500 && reply.status !== 429) {
        onState({ kind: "refused", status: reply.status })
        return
      }
    } catch {
      // A cut, or no server: the next try follows.
    } finally {
      signal.removeEventListener("abort", abort)
      attempt.abort()
    }
    if (signal.aborted) return
    onState({ kind: "waiting", delayMs })
    // Spread, so that a restarted server does not meet all its clients at once.
    await sleep(delayMs * (0.5 + Math.random() / 2), signal)
    delayMs = Math.min(2 * delayMs, longestDelayMs)
  }
}

/** Calls `onEvent` for each complete event; one without data has only its id. */
const readEvents = async (
  body: ReadableStream<Uint8Array>,
  attempt: AbortController,
  onEvent: (event: StreamEvent) => void,
): Promise<void> => {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let silence: ReturnType<typeof setTimeout> | undefined
  let rest = ""
  let event = { id: "", type: "message", text: "" }
  try {
    while (true) {
      silence = setTimeout(() => attempt.abort(), silenceMs)
      const { done, value } = await reader.read()
      clearTimeout(silence)
      if (done) return
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n")
      rest = lines.pop()!
      for (const raw of lines) {
        const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw
        if (line === "") {
          onEvent(event)
          event = { id: "", type: "message", text: "" }
          continue
        }
        const colon = line.indexOf(":")
        const field = colon === -1 ? line : line.slice(0, colon)
        const text = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "")
        if (field === "id") event.id = text
        else if (field === "event") event.type = text
        else if (field === "data") event.text += event.text === "" ? text : `\n${text}`
      }
    }
  } finally {
    clearTimeout(silence)
    reader.cancel().catch(() => {})
  }
}

const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener("abort", finish)
      done()
    }
    const timer = setTimeout(finish, ms)
    signal.addEventListener("abort", finish)
  })
