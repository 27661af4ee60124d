/**
 * Callers of a cluster, and the oracle. Each caller has a user of its own and sends that user's events one after another, each
 * until it is acknowledged, to any runner. An event is worth 1 xp: so after each acknowledgement any runner must say exactly
 * as much xp as events were acknowledged. Less is a lost write or a stale read, more is a doubled one.
 */
import { setTimeout as delay } from "node:timers/promises"
import { waitMs } from "../waitMs.ts"

export const action = "COUNT"

export interface LoadOptions {
  readonly key: string
  readonly urls: () => ReadonlyArray<string>
  readonly callers: number
  readonly name: string
}

interface Reply {
  readonly status: number
  readonly body: unknown
}

export const ask = async (
  url: string,
  key: string,
  path: string,
  body?: unknown,
  signal: AbortSignal = AbortSignal.timeout(2_000),
): Promise<Reply> => {
  const reply = await fetch(url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    signal,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await reply.text()
  return { status: reply.status, body: text === "" ? undefined : JSON.parse(text) }
}

export class ClusterLoad {
  /** Acknowledged events of each user. */
  readonly acknowledged = new Map<string, number>()
  readonly faults: Array<string> = []
  readonly statuses = new Map<string, number>()
  /** The longest time between two acknowledgements, of all callers together. */
  longestGapMs = 0
  #lastAt = performance.now()
  #stopped = false
  readonly #options: LoadOptions
  readonly #running: ReadonlyArray<Promise<void>>

  constructor(options: LoadOptions) {
    this.#options = options
    this.#running = Array.from({ length: options.callers }, (_, index) =>
      this.#call(`${options.name}-${index}`, index).catch((error) => {
        this.faults.push(String(error))
      }),
    )
  }

  get total(): number {
    return [...this.acknowledged.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Counts the longest gap from now on. */
  resetGap(): void {
    this.longestGapMs = 0
    this.#lastAt = performance.now()
  }

  /** Ends after so many more acknowledgements. */
  async progress(events: number): Promise<void> {
    const until = this.total + events
    const deadline = performance.now() + waitMs
    while (this.total < until) {
      if (performance.now() > deadline) throw new Error(`No progress within ${waitMs} ms`)
      await delay(10)
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#running)
  }

  async #call(userId: string, index: number): Promise<void> {
    this.acknowledged.set(userId, 0)
    for (let number = 0; !this.#stopped; number++) {
      const id = `${userId}-${number}`
      await this.#insist(index + number, "/v1/events", { userId, action, id })
      this.#acknowledge(userId, number + 1)
      // By another runner than the one that took the event.
      const user = await this.#insist(index + number + 1, `/v1/users/${userId}`)
      const { xp: total } = user as { readonly xp: number }
      if (total !== number + 1) {
        this.faults.push(`${userId} has ${total} xp after ${number + 1} acknowledged events`)
      }
    }
  }

  #acknowledge(userId: string, count: number): void {
    this.acknowledged.set(userId, count)
    const now = performance.now()
    this.longestGapMs = Math.max(this.longestGapMs, now - this.#lastAt)
    this.#lastAt = now
  }

  /** The body of the first 2xx. */
  async #insist(turn: number, path: string, body?: unknown): Promise<unknown> {
    for (let attempt = turn; ; attempt++) {
      const urls = this.#options.urls()
      const reply = await ask(urls[attempt % urls.length]!, this.#options.key, path, body).catch(
        (): Reply => ({ status: 0, body: undefined }),
      )
      if (reply.status === 200) return reply.body
      const { code = "none" } = (reply.body ?? {}) as { readonly code?: string }
      const name = `${reply.status} ${code}`
      this.statuses.set(name, (this.statuses.get(name) ?? 0) + 1)
      if (reply.status !== 0 && reply.status !== 503) {
        throw new Error(`${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
      }
      await delay(20)
    }
  }
}
