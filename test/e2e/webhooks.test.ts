/** `kill -9` while webhooks are being delivered to a receiver on a real socket. */
import { describe, expect, it, onTestFinished } from "vitest"
import { Random, seeds } from "../simulation/random.ts"
import { answer, isSignedBy, Receiver } from "../webhooks/Receiver.ts"
import { Server, temporaryFolder } from "./program.ts"

const kills = 2
const clients = 4
const users = 10

describe("A server that is killed while it delivers", () => {
  for (const seed of seeds(1)) {
    it(`delivers every message, and repeats keep their id; again with LAUREL_TEST_SEED=${seed}`, async () => {
      const random = new Random(seed)
      const folder = await temporaryFolder()
      const receiver = await Receiver.start()
      onTestFinished(() => receiver.stop())
      receiver.answer = (response, received, socket) => {
        const status = random.chance(0.1) ? 500 : 204
        // Some are under way whenever the kill comes.
        setTimeout(() => answer(status)(response, received, socket), random.integer(0, 10))
      }
      const variables = {
        LAUREL_WEBHOOK_ALLOW_CIDR: "127.0.0.0/8",
        LAUREL_WEBHOOK_RETRY_SCHEDULE: "0,0,0,1,1,1,1,1",
        LAUREL_SNAPSHOT_INTERVAL: "200 millis",
      }
      let server = await Server.start(folder, variables)
      const key = await server.createKey()
      const hook = { url: receiver.url(), events: ["reward.granted"] }
      const { body: webhook } = await server.request(key, "POST", "/v1/webhooks", hook)
      const path = `/v1/webhooks/${webhook.id}`

      /** The rewards that were acknowledged. */
      const granted = new Set<string>()
      const client = async (name: string) => {
        for (let id = 0; ; id++) {
          const user = `u${random.integer(1, users)}`
          const reward = { type: "xp", amount: 1, id: `${name}-${id}` }
          const reply = await server
            .request(key, "POST", `/v1/users/${user}/rewards`, reward)
            .catch(() => undefined)
          if (reply === undefined) return
          expect(reply.status).toBe(200)
          granted.add(reply.body.rewardId)
        }
      }
      for (let kill = 0; kill < kills; kill++) {
        const running = Array.from({ length: clients }, (_, index) => client(`${kill}-${index}`))
        await receiver.atLeast(receiver.received.length + random.integer(1, 150))
        expect(await server.stop("SIGKILL")).toBe("SIGKILL")
        await Promise.all(running)
        server = await Server.start(folder, variables)
      }
      const count = async () => (await server.request(key, "GET", path)).body.deliveries
      let counts = await count()
      while (counts.pending > 0) {
        await new Promise((resolve) => setTimeout(resolve, 20))
        counts = await count()
      }

      const log: Array<{ messageId: string; status: string }> = []
      for (let cursor = ""; ; ) {
        const query = `?limit=100${cursor}`
        const { body: page } = await server.request(key, "GET", `${path}/deliveries${query}`)
        log.push(...page.deliveries)
        if (page.nextCursor === null) break
        cursor = `&cursor=${page.nextCursor}`
      }
      expect(new Set(log.map(({ status }) => status))).toEqual(new Set(["succeeded"]))
      expect(log.length).toBe(counts.succeeded)
      const told = new Map<string, string>()
      for (const received of receiver.received) {
        expect(isSignedBy(webhook.secret, received)).toBe(true)
        const { data, id } = received.message
        expect(told.get(id) ?? received.body).toBe(received.body)
        expect(received.headers["webhook-id"]).toBe(id)
        told.set(id, received.body)
        granted.delete(data.rewardId)
      }
      expect([...granted]).toEqual([])
      expect(new Set(told.keys())).toEqual(new Set(log.map(({ messageId }) => messageId)))
      expect(await server.stop()).toBe(0)
    })
  }
})
