/**
 * Webhook messages that are pending when their owner's machine is lost. The next owner has their
 * records from an archive. Real processes.
 */
import { mkdtemp, rm } from "node:fs/promises"
import os from "node:os"
import path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { answer, Receiver } from "../webhooks/Receiver.ts"
import { action, ask } from "./Caller.ts"
import { eventually, followed, ownerOf, Runner } from "./Runner.ts"

const events = 40

describe("A server whose copy an archive has filled", () => {
  let postgres: Postgres
  let receiver: Receiver
  let archives: string
  const runners: Array<Runner> = []

  beforeAll(async () => {
    postgres = await Postgres.make()
    receiver = await Receiver.start()
    archives = await mkdtemp(path.join(os.tmpdir(), "laurel-archives-"))
  })

  afterAll(async () => {
    for (const runner of runners) await runner.remove()
    await receiver?.stop()
    await postgres?.remove()
    await rm(archives, { recursive: true, force: true })
  })

  it("sends the messages that were pending at the former owner, and resumes the former owner's streams", async () => {
    const settings = {
      LAUREL_CLUSTER: await postgres.schema("webhooks"),
      LAUREL_CLUSTER_LOCK_EXPIRATION: "2 seconds",
      LAUREL_ARCHIVE_DIR: archives,
      LAUREL_SNAPSHOT_INTERVAL: "1 second",
      LAUREL_WEBHOOK_ALLOW_CIDR: "127.0.0.0/8",
      LAUREL_WEBHOOK_RETRY_SCHEDULE: `0${",5".repeat(19)}`,
    }
    const owner = await Runner.make(settings)
    runners.push(owner)
    await owner.start()
    const key = await eventually("the first key", async () => owner.firstKey)
    const post = (url: string, target: string, body: unknown, id: string) =>
      eventually(target, async () => {
        const reply = await ask(url, key, target, body, id)
        return reply.status < 300 ? reply : undefined
      })
    receiver.answer = answer(503)
    await post(owner.url, "/v1/rules", { action, reward: { xp: 1 } }, "rule")
    const webhook = { url: receiver.url("127.0.0.1"), events: ["event.tracked"] }
    await post(owner.url, "/v1/webhooks", webhook, "webhook")
    const ids = Array.from({ length: events }, (_, index) => `e${index}`)
    for (const id of ids) await post(owner.url, "/v1/events", { id, userId: "u", action }, id)
    const pending = () => owner.metric("laurel_webhook_deliveries_pending")
    await eventually("the deliveries", async () => (await pending()) === events || undefined)

    // The archive has the records of the deliveries, and PostgreSQL no longer has them.
    const range = "FROM laurel_journal WHERE partition = 1"
    const [end] = await postgres.query(`SELECT max(first) AS first ${range}`, "webhooks")
    const archived = owner.run(["snapshots", "create", "--partition", "1"])
    expect(await archived.ended).toBe(0)
    await post(owner.url, "/v1/events", { id: "last", userId: "u", action }, "last")
    await postgres.query(`DELETE ${range} AND first <= ${end!.first}`, "webhooks")
    const next = await Runner.make(settings)
    runners.push(next)
    await next.start()
    await followed(next)
    expect(next.process.stdout + next.process.stderr).toContain(
      "Fills the local copy from an archive",
    )

    await owner.kill()
    await ownerOf([next])
    receiver.received.length = 0
    receiver.answer = answer(204)
    const idOf = ({ message }: (typeof receiver.received)[number]) => message.data.eventId
    await eventually("all messages", async () => {
      const arrived = new Set(receiver.received.map(idOf))
      if (arrived.size < events + 1) throw new Error(JSON.stringify([...arrived]))
      return true
    })
    const stream = await fetch(`${next.url}/v1/stream`, {
      headers: {
        authorization: `Bearer ${key}`,
        "last-event-id": receiver.received[0]!.message.id,
      },
    })
    expect(stream.status).toBe(200)
    await stream.body?.cancel()
  })
})
