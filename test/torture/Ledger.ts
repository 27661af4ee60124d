/**
 * The oracle: writes down what was sent and what was acknowledged. A request without an answer may have been applied
 * or not; it is settled by being sent again, as a client would, and then counts exactly once.
 */
import type { Random } from "../simulation/random.ts"

export const userCount = 40
export const eventXp = 10
const rewardXp = 7
const batchEvents = 20

const userIdOf = (number: number): string => `u${number}`

/** One request that changes something, with what makes it safe to repeat. */
export interface Sent {
  readonly kind: "event" | "batch" | "reward"
  readonly path: string
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
  /** Xp that it gives, by user. */
  readonly xp: ReadonlyMap<string, number>
  /** The ids in its first answer; `undefined` while there was none. */
  acknowledged: ReadonlyArray<string> | undefined
}

export class Ledger {
  /** Of the round under way. */
  round: Array<Sent> = []
  sent = 0
  acknowledged = 0
  verified = 0
  readonly lost: Array<string> = []
  readonly #xp = new Map<string, number>()

  next(random: Random): Sent {
    const number = this.sent++
    const userId = userIdOf(random.integer(1, userCount))
    const sent = this.#make(number, userId, random)
    this.round.push(sent)
    for (const [user, xp] of sent.xp) this.#xp.set(user, (this.#xp.get(user) ?? 0) + xp)
    return sent
  }

  #make(number: number, userId: string, random: Random): Sent {
    const kind = random.pick(["event", "event", "event", "event", "batch", "reward"] as const)
    if (kind === "event") {
      const body = { id: `e${number}`, userId, action: "COUNT" }
      const xp = new Map([[userId, eventXp]])
      return { kind, path: "/v1/events", body, headers: {}, xp, acknowledged: undefined }
    }
    if (kind === "reward") {
      const headers = { "Idempotency-Key": `r${number}` }
      const path = `/v1/users/${userId}/rewards`
      const xp = new Map([[userId, rewardXp]])
      const body = { type: "xp", amount: rewardXp }
      return { kind, path, body, headers, xp, acknowledged: undefined }
    }
    const events = Array.from({ length: batchEvents }, (_, index) => ({
      id: `b${number}-${index}`,
      userId: userIdOf(random.integer(1, userCount)),
      action: "COUNT",
    }))
    const xp = new Map<string, number>()
    for (const event of events) xp.set(event.userId, (xp.get(event.userId) ?? 0) + eventXp)
    const path = "/v1/events/batch"
    return { kind, path, body: { events }, headers: {}, xp, acknowledged: undefined }
  }

  acknowledge(sent: Sent, ids: ReadonlyArray<string>): void {
    sent.acknowledged = ids
    this.acknowledged++
  }

  /** An answer to a repeated request: it must be the first one again. */
  verify(sent: Sent, ids: ReadonlyArray<string>, repeated: boolean): void {
    const first = sent.acknowledged!
    if (!repeated || ids.join() !== first.join()) {
      this.lost.push(`${sent.kind} ${first[0]}: came back as ${ids[0]}, repeated: ${repeated}`)
    }
    this.verified++
  }

  /** When all is settled, every user must have exactly this much. */
  verifyTotals(xp: ReadonlyMap<string, number>): void {
    for (const [userId, expected] of this.#xp) {
      const found = xp.get(userId) ?? 0
      if (found !== expected) {
        this.lost.push(`${userId} has ${found} xp, and ${expected} were given`)
      }
    }
  }

  endRound(): void {
    this.round = []
  }
}
