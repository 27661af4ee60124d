/**
 * Upgrades from the data of earlier commits to the present sources, and back, as deploy/README.md describes: stop, archive,
 * replace, start; back: replace, restore the archive, start. Each server is the real one of its commit, with its own packages.
 */
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { type Reply, run, Server, temporaryFolder } from "../e2e/program.ts"
import { answer, Receiver } from "../webhooks/Receiver.ts"
import { checkedOut } from "./checkedOut.ts"

/** Before the journal of webhooks, undo, packed values, accounts; and the commit before the present one. */
const commits = ["d50e0e4", "HEAD~1"]
const userIds = ["ada", "bob", "eve", "zoe"]

/** One of everything that the older commit knows. */
const use = async (server: Server, key: string, receiver: Receiver): Promise<void> => {
  const ask = async (method: string, path: string, body: unknown): Promise<Reply["body"]> => {
    const reply = await server.request(key, method, path, body)
    expect(reply.status, `${method} ${path}: ${JSON.stringify(reply.body)}`).toBeLessThan(300)
    return reply.body
  }
  const post = (path: string, body: unknown) => ask("POST", path, body)
  const streaks = [{ key: "daily", freezes: { initial: 1 } }]
  await ask("PATCH", "/v1/project", { timezone: "Europe/Berlin", streaks })
  await post("/v1/webhooks", { url: receiver.url(), events: ["*"] })
  const manual = await post("/v1/badges", { name: "Given", criteria: { kind: "manual" } })
  const criteria = { kind: "action_count", target: 2, action: "READ" }
  await post("/v1/badges", { name: "Reader", criteria })
  await post("/v1/rules", { action: "TAP", reward: { xp: 10 }, limit: { times: 50, per: "day" } })
  await post("/v1/rules", { action: "READ", reward: { points: 2 } })
  const steps = [{ key: "tap", action: "TAP", target: 2 }]
  await post("/v1/quests", { title: "Tap", reward: { xp: 5 }, steps, recurrence: "weekly" })
  const events = userIds.flatMap((userId) =>
    ["TAP", "READ", "TAP", "READ"].map((action, n) => ({ userId, action, id: `${userId}-${n}` })),
  )
  await post("/v1/events/batch", { events })
  await post("/v1/users/bob/rewards", { type: "badge", badgeId: manual.id, id: "given" })
  await ask("PUT", "/v1/users/ada", { displayName: "Ada", attributes: { plan: "pro" } })
}

/** The replies that callers see: each path with its body. */
const seen = async (server: Server, key: string): Promise<Record<string, unknown>> => {
  const boards = ["all_time", "daily", "weekly", "monthly"].map(
    (window) => `/v1/leaderboard?window=${window}`,
  )
  const ofUsers = userIds.flatMap((id) => [`/v1/users/${id}`, `/v1/users/${id}/history`])
  const definitions = ["project", "rules", "badges", "quests", "webhooks"].map((n) => `/v1/${n}`)
  const found: Record<string, unknown> = {}
  for (const path of [...boards, ...ofUsers, ...definitions]) {
    const { body, status } = await server.request(key, "GET", path)
    expect(status, path).toBe(200)
    found[path] = body
  }
  return found
}

for (const commit of commits) {
  test(`from ${commit} to the present, and back`, { timeout: 600_000 }, async () => {
    const old = await checkedOut(commit)
    const receiver = await Receiver.start()
    onTestFinished(() => receiver.stop())
    // Pending deliveries go along with the data.
    receiver.answer = answer(503)
    const folder = join(await temporaryFolder(), "data")
    const variables = {
      LAUREL_WEBHOOK_ALLOW_CIDR: "127.0.0.0/8",
      LAUREL_WEBHOOK_RETRY_SCHEDULE: "0,1,1,1,1,1,1,1,1,1",
      LAUREL_ARCHIVE_INTERVAL: "off",
    }
    const startOld = () => Server.start(folder, variables, undefined, old)
    const present = () => Server.start(folder, variables)

    const before = await startOld()
    const key = await before.createKey()
    await use(before, key, receiver)
    await receiver.atLeast(1)
    const was = await seen(before, key)
    const created = await run(["snapshots", "create"], folder, {}, old)
    expect(created.code, created.stderr).toBe(0)
    const archive = created.stdout.trim().split("\n").at(-1)!
    expect(await before.stop()).toBe(0)

    const verified = await run(["snapshots", "verify", "live"], folder)
    expect(verified.code, verified.stderr).toBe(0)
    const verifiedArchive = await run(["snapshots", "verify", archive], folder)
    expect(verifiedArchive.code, verifiedArchive.stderr).toBe(0)

    const upgraded = await present()
    expect(await seen(upgraded, key)).toMatchObject(was)
    // An id of the old version still counts once, and its pending messages arrive.
    const again = { userId: "ada", action: "TAP", id: "ada-0" }
    const { body: repeated } = await upgraded.request(key, "POST", "/v1/events", again)
    expect(repeated).toMatchObject({ duplicate: true, xp: { earned: 10 } })
    const answered = receiver.received.length
    receiver.answer = answer(204)
    await receiver.atLeast(answered + 1)
    const late = { userId: "ada", action: "TAP", id: "after-the-upgrade" }
    const { body: tracked } = await upgraded.request(key, "POST", "/v1/events", late)
    expect(tracked).toMatchObject({ duplicate: false, xp: { earned: 10 } })
    const newer = await run(["snapshots", "create"], folder)
    expect(newer.code, newer.stderr).toBe(0)
    expect(await upgraded.stop()).toBe(0)
    const verifiedAfter = await run(["snapshots", "verify", "live"], folder)
    expect(verifiedAfter.code, verifiedAfter.stderr).toBe(0)

    // The present version restores archives of the old one.
    const restored = await run(["snapshots", "restore", archive, "--yes"], folder)
    expect(restored.code, restored.stderr).toBe(0)
    const asBefore = await present()
    expect(await seen(asBefore, key)).toMatchObject(was)
    expect(await asBefore.stop()).toBe(0)

    // Back: the old version restores its archive over data that the present one wrote.
    const back = await run(["snapshots", "restore", archive, "--yes"], folder, {}, old)
    expect(back.code, back.stderr).toBe(0)
    const after = await startOld()
    expect(await seen(after, key)).toEqual(was)
    const missing = await after.request(key, "POST", "/v1/events", late)
    expect(missing.body).toMatchObject({ duplicate: false })
    expect(await after.stop()).toBe(0)
  })
}
