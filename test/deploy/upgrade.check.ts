/**
 * Data of another format goes over in an export, as VERSIONS.md says: the present version refuses
 * the data directory and the archive of an earlier commit; that version exports, the present one
 * imports and answers the same. The older server is the real one of its commit, with its packages.
 */
import { join } from "node:path"
import { expect, test } from "vitest"
import { exitCodes } from "../../src/cli/output/ExitCode.ts"
import { type Reply, run, Server, temporaryFolder } from "../e2e/program.ts"
import { checkedOut } from "./checkedOut.ts"

/** The last commit of the format before 3. */
const commit = "e835b6f0"
const userIds = ["ada", "bob", "eve", "zoe"]

const use = async (server: Server, key: string): Promise<void> => {
  const ask = async (method: string, path: string, body: unknown): Promise<Reply["body"]> => {
    const reply = await server.request(key, method, path, body)
    expect(reply.status, `${method} ${path}: ${JSON.stringify(reply.body)}`).toBeLessThan(300)
    return reply.body
  }
  const post = (path: string, body: unknown) => ask("POST", path, body)
  await ask("PATCH", "/v1/project", { timezone: "Europe/Berlin" })
  await ask("POST", "/v1/streaks", { key: "daily", name: "Daily", freezes: { initial: 1 } })
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
  const definitions = ["project", "rules", "badges", "quests"].map((name) => `/v1/${name}`)
  const found: Record<string, unknown> = {}
  for (const path of [...boards, ...ofUsers, ...definitions]) {
    const { body, status } = await server.request(key, "GET", path)
    expect(status, path).toBe(200)
    found[path] = body
  }
  return found
}

test(`from ${commit} to the present by export and import`, { timeout: 600_000 }, async () => {
  const old = await checkedOut(commit)
  const root = await temporaryFolder()
  const [folder, file] = [join(root, "data"), join(root, "export.ndjson")]
  const variables = { LAUREL_ARCHIVE_INTERVAL: "off" }
  const before = await Server.start(folder, variables, undefined, old)
  const key = await before.createKey()
  await use(before, key)
  const was = await seen(before, key)
  const created = await run(["snapshots", "create"], folder, {}, old)
  expect(created.code, created.stderr).toBe(0)
  expect(await before.stop()).toBe(0)

  const refused = await run(["serve"], folder, variables)
  expect(refused.code).toBe(exitCodes.damagedData)
  expect(refused.stderr).toContain("export it with the version that wrote it")
  const archive = created.stdout.trim().split("\n").at(-1)!
  const restored = await run(["snapshots", "restore", archive, "--yes"], folder)
  expect(restored.code).toBe(exitCodes.refused)
  expect(restored.stderr).toContain("export it with the version that wrote it")

  const exported = await run(["snapshots", "export", file], folder, {}, old)
  expect(exported.code, exported.stderr).toBe(0)
  const target = join(root, "new")
  const imported = await run(["snapshots", "import", file], target)
  expect(imported.code, imported.stderr).toBe(0)
  const present = await Server.start(target, variables)
  expect(await seen(present, key)).toMatchObject(was)
  // An id of the old version still counts once.
  const again = { userId: "ada", action: "TAP", id: "ada-0" }
  const { body: repeated } = await present.request(key, "POST", "/v1/events", again)
  expect(repeated).toMatchObject({ duplicate: true, xp: { earned: 10 } })
  expect(await present.stop()).toBe(0)
})
