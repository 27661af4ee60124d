import { describe, expect, it } from "vitest"
import type { LaurelError } from "../../src/client/LaurelError.ts"
import { follow as followStream, type StreamState } from "../../src/client/stream.ts"
import { Random, seeds } from "../simulation/random.ts"

const encoder = new TextEncoder()

/** A server that keeps a list of events, and cuts each reply where the test says. */
class Events {
  readonly texts: ReadonlyArray<string>
  /** The ids behind which clients asked to resume. */
  readonly asked: Array<string | undefined> = []

  constructor(count: number) {
    this.texts = Array.from(
      { length: count },
      (_, index) => `{"n":${index},"at":"12:00 é\u{1f600}\u2028: data:"}`,
    )
  }

  /** The rest behind an id, cut after a share of its bytes, in pieces of so many bytes. */
  reply(after: string | undefined, share: number, pieceBytes: number): Response {
    this.asked.push(after)
    const from = after === undefined ? 0 : Number(after) + 1
    const blocks = this.texts
      .slice(from)
      .map((text, index) => `id: ${from + index}\nevent: tick\ndata: ${text}\n\n:\n\n`)
    const bytes = encoder.encode(`retry: 1000\n\n${blocks.join("")}`)
    let sent = 0
    const end = Math.ceil(bytes.length * share)
    const body = new ReadableStream({
      pull(controller) {
        if (sent >= end) {
          if (share === 1) controller.close()
          else controller.error(new Error("cut"))
          return
        }
        controller.enqueue(bytes.slice(sent, Math.min(end, sent + pieceBytes)))
        sent += pieceBytes
      },
    })
    return new Response(body)
  }
}

/** Follows until all events have arrived or the stream is refused. */
const follow = async (
  count: number,
  open: (after: string | undefined, attempt: number) => Response | Promise<Response>,
  after?: string,
) => {
  const received: Array<string> = []
  const states: Array<StreamState> = []
  const delays: Array<number> = []
  const leaving = new AbortController()
  let attempt = 0
  const texts = followStream(async (headers) => open(headers["last-event-id"], attempt++), {
    after,
    signal: leaving.signal,
    onState: (state) => states.push(state),
    sleep: async (ms) => {
      delays.push(ms)
    },
  })
  let refusal: LaurelError | undefined
  try {
    for await (const text of texts) {
      received.push(text)
      if (received.length === count) leaving.abort()
    }
  } catch (error) {
    refusal = error as LaurelError
  }
  return { received, states, delays, refusal }
}

describe("A stream that is cut anywhere", () => {
  it("delivers every event once, in order", async () => {
    for (const seed of seeds(50)) {
      const random = new Random(seed)
      const events = new Events(30)
      const { received } = await follow(30, (after) => {
        if (random.chance(0.2)) return new Response("starting", { status: 503 })
        if (random.chance(0.2)) throw new TypeError("no connection")
        return events.reply(after, random.integer(0, 100) / 100, random.integer(1, 40))
      })
      expect({ seed, received }).toEqual({ seed, received: events.texts })
    }
  })

  it("begins behind the event that it was given, also when nothing came before the first cut", async () => {
    const events = new Events(5)
    const { received } = await follow(
      3,
      (after, attempt) => events.reply(after, attempt === 0 ? 0 : 1, 16),
      "1",
    )
    expect(received).toEqual(events.texts.slice(2))
    expect(events.asked).toEqual(["1", "1"])
  })

  it("resumes behind the position that the server names without an event", async () => {
    const asked: Array<string | undefined> = []
    await follow(1, (after) => {
      asked.push(after)
      return after === "7" ? new Response("id: 8\ndata: x\n\n") : new Response("id: 7\n\n")
    })
    expect(asked).toEqual([undefined, "7"])
  })

  it("waits longer after each failure, at most 5 seconds, and briefly again after an event", async () => {
    const events = new Events(2)
    const { delays } = await follow(2, (after, attempt) => {
      if (attempt === 8) return events.reply(after, 0.6, 1_000)
      return attempt < 10 ? new Response("", { status: 503 }) : events.reply(after, 1, 1_000)
    })
    const longest = [1, 2, 4, 5, 5, 5, 5, 5, 1, 2]
    expect(delays).toHaveLength(longest.length)
    for (const [index, delay] of delays.entries()) {
      expect(delay).toBeGreaterThanOrEqual(longest[index]! * 500)
      expect(delay).toBeLessThanOrEqual(longest[index]! * 1_000)
    }
  })

  it("waits at least as long as the server asks", async () => {
    const { delays } = await follow(1, (_, attempt) =>
      attempt === 0
        ? new Response("", { status: 503, headers: { "Retry-After": "30" } })
        : new Response("data: x\n\n"),
    )
    expect(delays).toEqual([30_000])
  })

  it("delivers nothing after it was ended", async () => {
    const { received, states } = await follow(1, () => new Response("data: 1\n\ndata: 2\n\n"))
    expect(received).toEqual(["1"])
    expect(states.map(({ kind }) => kind)).toEqual(["connecting", "open"])
  })

  it("throws where the server refuses it, or no longer has the events", async () => {
    for (const [status, code] of [
      [403, "insufficient_scope"],
      [410, "gone"],
    ] as const) {
      const problem = JSON.stringify({ code, detail: "No." })
      const { refusal } = await follow(1, () => new Response(problem, { status }), "1")
      expect(refusal).toMatchObject({ code, status, message: "No." })
    }
  })
})
