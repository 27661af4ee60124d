/**
 * Callers of a cluster, and what each expects. A caller has its own user, and sends one request at
 * a time until it is acknowledged, each attempt to the next runner. An event or a reward is worth 1
 * xp. So after each acknowledgement every runner must return exactly the acknowledged xp.
 */
import { setTimeout as delay } from "node:timers/promises"

export const action = "COUNT"

export interface Reply {
  /** 0: none. */
  readonly status: number
  readonly text: string
  readonly body: unknown
  readonly isReplayed: boolean
}

const none: Reply = { status: 0, text: "", body: undefined, isReplayed: false }

/** The caller then tries another runner. */
const patienceMs = 2_000
const retryMs = 20

export const ask = async (
  url: string,
  key: string,
  path: string,
  body?: unknown,
  idempotencyKey?: string,
): Promise<Reply> => {
  const response = await fetch(url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    },
    signal: AbortSignal.timeout(patienceMs),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    text,
    body: text === "" ? undefined : JSON.parse(text),
    isReplayed: response.headers.get("idempotency-replayed") === "true",
  }
}

export interface Finding {
  /**
   * `stale`: a reply has less xp than was acknowledged. `changed`: a repetition has another reply
   * than the first attempt, or a fold another board. `hook`: a webhook's message is missing, out of
   * order, or changed.
   */
  readonly kind: "lost" | "doubled" | "stale" | "changed" | "hook" | "failed"
  readonly words: string
}

/** The part of a load that a caller uses. */
export interface Callers {
  readonly key: string
  readonly urls: () => ReadonlyArray<string>
  /** Waits while the load is paused. Returns false once it has stopped. */
  readonly turn: () => Promise<boolean>
  readonly acknowledged: (eventId: string) => void
  readonly answered: (name: string) => void
  readonly found: (finding: Finding) => void
}

/**
 * The least xp of a user (acknowledged), and the most (including requests with an unknown outcome).
 */
export interface Expected {
  readonly least: number
  readonly most: number
}

export const boardPath = "/v1/leaderboard?limit=100"

export interface BoardEntry {
  readonly userId: string
  readonly xp: number
}

const codeOf = ({ body }: Reply): string => (body as { readonly code?: string })?.code ?? "none"

const isDone = ({ status }: Reply): boolean => status === 200

/** 0 if the user has no xp, or is beyond the page of the board. `undefined`: no answer. */
const xpOnBoard = (reply: Reply, userId: string): number | undefined => {
  if (!isDone(reply)) return undefined
  const { entries } = reply.body as { readonly entries: ReadonlyArray<BoardEntry> }
  return entries.find((entry) => entry.userId === userId)?.xp ?? 0
}

/** 0 also if the user is not found, since it has no event yet. `undefined`: no answer. */
export const xpOfUser = (reply: Reply): number | undefined => {
  if (isDone(reply)) return (reply.body as { readonly xp: number }).xp
  return codeOf(reply) === "user_not_found" ? 0 : undefined
}

abstract class Caller {
  readonly userId: string
  protected readonly callers: Callers
  protected number = 0
  #attempt: number

  constructor(callers: Callers, userId: string, index: number) {
    this.callers = callers
    this.userId = userId
    this.#attempt = index
  }

  abstract get expected(): Expected
  protected abstract step(): Promise<void>

  async run(): Promise<void> {
    while (await this.callers.turn()) {
      await this.step()
      this.number++
    }
  }

  /** One attempt, at the next runner. Fails if the reply is neither an answer nor a refusal. */
  protected async try(
    path: string,
    body?: unknown,
    idempotencyKey?: string,
    isAnswer = isDone,
  ): Promise<Reply> {
    const urls = this.callers.urls()
    const url = urls[this.#attempt++ % urls.length]!
    const reply = await ask(url, this.callers.key, path, body, idempotencyKey).catch(() => none)
    const { status } = reply
    const isKnown = idempotencyKey !== undefined && status === 409
    if (status !== 200) this.callers.answered(`${status} ${codeOf(reply)}`)
    if (!isAnswer(reply) && status !== 0 && status !== 503 && !isKnown) {
      throw new Error(`${path}: ${status} ${reply.text}`)
    }
    return reply
  }

  /** Repeats the request until it is answered. */
  protected async insist(
    path: string,
    body?: unknown,
    idempotencyKey?: string,
    isAnswer = isDone,
  ): Promise<Reply> {
    while (true) {
      const reply = await this.try(path, body, idempotencyKey, isAnswer)
      if (isAnswer(reply)) return reply
      await delay(retryMs)
    }
  }

  protected async look(): Promise<void> {
    // The reply may or may not include writes in progress.
    const { least } = this.expected
    const isBoard = this.number % 8 === 6
    const path = isBoard ? boardPath : `/v1/users/${this.userId}`
    const xpIn = (reply: Reply) => (isBoard ? xpOnBoard(reply, this.userId) : xpOfUser(reply))
    const reply = await this.insist(path, undefined, undefined, (each) => xpIn(each) !== undefined)
    const xp = xpIn(reply)!
    const { most } = this.expected
    const words = `${this.userId} has ${xp} xp instead of ${least} to ${most} in a ${reply.status} of ${path}`
    if (xp < least) this.callers.found({ kind: "stale", words })
    if (xp > most) this.callers.found({ kind: "doubled", words })
  }
}

interface EventReply {
  readonly eventId: string
  readonly duplicate: boolean
}

/** A random sample of the acknowledged writes and their replies. */
class Sample {
  readonly #writes: Array<readonly [name: string, answer: string]> = []

  add(name: string, answer: string): void {
    if (this.#writes.length < sampleMax) this.#writes.push([name, answer])
    else this.#writes[Math.floor(Math.random() * sampleMax)] = [name, answer]
  }

  get any(): readonly [name: string, answer: string] | undefined {
    return this.#writes[Math.floor(Math.random() * this.#writes.length)]
  }
}

const sampleMax = 200

/**
 * Gives each write an id or an `Idempotency-Key`, and repeats it until it is acknowledged,
 * sometimes also afterwards.
 */
export class PatientCaller extends Caller {
  #xp = 0
  /** Laurel's event ids, by the caller's ids. */
  readonly #events = new Sample()
  /** Replies, by `Idempotency-Key`. */
  readonly #rewards = new Sample()

  get expected(): Expected {
    return { least: this.#xp, most: this.#xp }
  }

  protected async step(): Promise<void> {
    await this.#send()
    await this.look()
    if (this.number % 4 === 1) await this.#reward()
    if (this.number % 4 === 2) await this.#repeatReward()
    if (this.number % 4 === 3) await this.#repeatEvent()
  }

  async #send(): Promise<void> {
    const { number, userId } = this
    const id = `${userId}-${number}`
    const { body } = await this.insist("/v1/events", { userId, action, id })
    const { eventId } = body as EventReply
    this.#acknowledge(eventId)
    this.#events.add(id, eventId)
  }

  async #reward(): Promise<void> {
    const key = `${this.userId}-reward-${this.number}`
    const { body, text } = await this.#sendReward(key)
    this.#acknowledge((body as { readonly rewardId: string }).rewardId)
    this.#rewards.add(key, text)
  }

  #sendReward(key: string): Promise<Reply> {
    return this.insist(`/v1/users/${this.userId}/rewards`, { type: "xp", amount: 1 }, key)
  }

  async #repeatReward(): Promise<void> {
    const reward = this.#rewards.any
    if (reward === undefined) return
    const [key, text] = reward
    const again = await this.#sendReward(key)
    if (again.text === text && again.isReplayed) return
    const words = `${key}: ${again.text} after ${text}, replayed: ${again.isReplayed}`
    this.callers.found({ kind: "changed", words })
  }

  async #repeatEvent(): Promise<void> {
    const [id, eventId] = this.#events.any!
    const { body, text } = await this.insist("/v1/events", { userId: this.userId, action, id })
    const again = body as EventReply
    if (again.eventId === eventId && again.duplicate) return
    this.callers.found({ kind: "changed", words: `${id}, acknowledged as ${eventId}: ${text}` })
  }

  #acknowledge(id: string): void {
    this.#xp++
    this.callers.acknowledged(id)
  }
}

/**
 * Sends events without ids, so it repeats none. Each 200 counts once, and an event without a reply
 * may count.
 */
export class HastyCaller extends Caller {
  #least = 0
  #most = 0

  get expected(): Expected {
    return { least: this.#least, most: this.#most }
  }

  protected async step(): Promise<void> {
    this.#most++
    const reply = await this.try("/v1/events", { userId: this.userId, action })
    if (reply.status === 200) {
      this.#least++
      this.callers.acknowledged((reply.body as EventReply).eventId)
    } else {
      if (reply.text.includes("Nothing was changed.")) this.#most--
      await delay(retryMs)
    }
    await this.look()
  }
}
