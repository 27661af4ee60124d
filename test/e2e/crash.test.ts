/**
 * `kill -9` under load, again and again. Several clients send events with ids of their own; what was
 * acknowledged is written down here. An event without an answer may have been applied or not, but not twice.
 */
import { describe, expect, it } from "vitest"
import { Random, seeds } from "../simulation/random.ts"
import { Server, temporaryFolder } from "./program.ts"

const kills = 5
const clients = 8
const users = 20
const xpOfEvent = 10
const batchEvents = 500

interface Sent {
  readonly id: string
  readonly userId: string
  eventId: string | undefined
}

/** Every event that was ever sent; `eventId` is there for those that were acknowledged. */
class Ledger {
  readonly sent: Array<Sent> = []
  acknowledged = 0
  readonly #waiting: Array<{ readonly acknowledged: number; readonly reached: () => void }> = []

  next(random: Random): Sent {
    const event: Sent = {
      id: `e${this.sent.length}`,
      userId: `u${random.integer(1, users)}`,
      eventId: undefined,
    }
    this.sent.push(event)
    return event
  }

  acknowledge(event: Sent, eventId: string): void {
    event.eventId = eventId
    this.acknowledged++
    for (const { acknowledged, reached } of this.#waiting) {
      if (this.acknowledged >= acknowledged) reached()
    }
  }

  /** Resolves when so many more events are acknowledged. */
  more(count: number): Promise<void> {
    const acknowledged = this.acknowledged + count
    return new Promise((reached) => this.#waiting.push({ acknowledged, reached }))
  }

  xpBounds(userId: string): { readonly least: number; readonly most: number } {
    const own = this.sent.filter((event) => event.userId === userId)
    const acknowledged = own.filter((event) => event.eventId !== undefined)
    return { least: acknowledged.length * xpOfEvent, most: own.length * xpOfEvent }
  }
}

const eventOf = ({ id, userId }: Sent) => ({ id, userId, action: "COUNT" })

/** Sends one event after another until the server is gone. */
const client = async (server: Server, key: string, ledger: Ledger, random: Random) => {
  for (;;) {
    const event = ledger.next(random)
    const reply = await server
      .request(key, "POST", "/v1/events", eventOf(event))
      .catch(() => undefined)
    if (reply === undefined) return
    expect(reply.status).toBe(200)
    ledger.acknowledge(event, reply.body.eventId)
  }
}

const xpOfUsers = async (server: Server, key: string): Promise<ReadonlyMap<string, number>> => {
  const { body } = await server.request(key, "GET", "/v1/leaderboard?limit=100")
  return new Map(
    body.entries.map(({ userId, xp }: { userId: string; xp: number }) => [userId, xp] as const),
  )
}

/** Sends all events again, in batches; returns the outcomes. */
const sendAgain = async (server: Server, key: string, events: ReadonlyArray<Sent>) => {
  const results: Array<{ readonly duplicate: boolean; readonly eventId: string }> = []
  for (let from = 0; from < events.length; from += batchEvents) {
    const batch = events.slice(from, from + batchEvents).map(eventOf)
    const reply = await server.request(key, "POST", "/v1/events/batch", { events: batch })
    expect(reply.status).toBe(200)
    results.push(...reply.body.results)
  }
  return results
}

describe("A server that is killed under load", () => {
  for (const seed of seeds(1)) {
    it(`loses nothing acknowledged and applies nothing twice; again with LAUREL_TEST_SEED=${seed}`, async () => {
      const random = new Random(seed)
      const folder = await temporaryFolder()
      const ledger = new Ledger()
      // Snapshots all the time, so that kills hit them too.
      const variables = { LAUREL_SNAPSHOT_INTERVAL: "100 millis" }
      let server = await Server.start(folder, variables)
      const key = await server.createKey()
      const rule = { action: "COUNT", reward: { xp: xpOfEvent } }
      expect((await server.request(key, "POST", "/v1/rules", rule)).status).toBe(201)

      for (let kill = 0; kill < kills; kill++) {
        const running = Array.from({ length: clients }, () => client(server, key, ledger, random))
        await Promise.race([ledger.more(random.integer(1, 600)), Promise.all(running)])
        expect(await server.stop("SIGKILL")).toBe("SIGKILL")
        await Promise.all(running)
        server = await Server.start(folder, variables)
        const xp = await xpOfUsers(server, key)
        for (let user = 1; user <= users; user++) {
          const { least, most } = ledger.xpBounds(`u${user}`)
          expect(xp.get(`u${user}`) ?? 0).toBeGreaterThanOrEqual(least)
          expect(xp.get(`u${user}`) ?? 0).toBeLessThanOrEqual(most)
        }
      }

      const acknowledged = ledger.sent.filter(({ eventId }) => eventId !== undefined)
      expect(acknowledged.length).toBeGreaterThanOrEqual(kills)
      const found = await sendAgain(server, key, acknowledged)
      expect(found.map(({ duplicate, eventId }) => [duplicate, eventId])).toEqual(
        acknowledged.map(({ eventId }) => [true, eventId]),
      )
      // The rest is settled by asking again, as a client would: then each event counts exactly once.
      await sendAgain(server, key, ledger.sent)
      const xp = await xpOfUsers(server, key)
      for (let user = 1; user <= users; user++) {
        expect(xp.get(`u${user}`) ?? 0).toBe(ledger.xpBounds(`u${user}`).most)
      }
      expect(await server.stop()).toBe(0)
    })
  }
})
