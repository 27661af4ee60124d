/** `laurel sync postgres`: the real command beside a real server and a real PostgreSQL. */
import { readFile } from "node:fs/promises"
import { afterAll, describe, expect, it } from "vitest"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { Running, run, Server, sharedByAll, temporaryFolder } from "./program.ts"

describe("laurel sync postgres", () => {
  let folder: string
  let server: Server
  let postgres: Postgres
  sharedByAll(async () => {
    folder = await temporaryFolder()
    server = await Server.start(folder)
    postgres = await Postgres.make()
  })
  afterAll(() => postgres.stop())

  const variables = (key: string) => ({
    LAUREL_URL: server.url,
    LAUREL_KEY: key,
    LAUREL_SYNC_TO: postgres.urlOf("public"),
  })
  const track = async (key: string, userId: string, count: number) => {
    const events = Array.from({ length: count }, () => ({ userId, action: "RUN" }))
    const { status } = await server.request(key, "POST", "/v1/events/batch", { events })
    expect(status).toBe(200)
  }
  const copied = async (schema: string) => {
    const [facts] = await postgres.query(
      "SELECT count(*) FILTER (WHERE kind = 'event.tracked')::int AS events, sum(amount) FILTER (WHERE kind = 'xp.earned')::int AS xp FROM facts",
      schema,
    )
    const [users] = await postgres.query("SELECT sum(xp)::int AS of_users FROM users", schema)
    return { ...facts, ...users }
  }

  it("has every fact once after it was killed again and again, and follows until it is stopped", async () => {
    const key = await server.createKey("kills")
    await server.request(key, "POST", "/v1/rules", { action: "RUN", reward: { xp: 2 } })
    let sent = 0
    for (let kill = 0; kill < 4; kill++) {
      const command = new Running(["sync", "postgres", "--schema", "kills"], variables(key))
      await track(key, "ann", 1_000)
      await command.stdout.waitFor(/Copied/)
      await track(key, "bob", 500)
      sent += 1_500
      expect(await command.stop("SIGKILL")).toBe("SIGKILL")
    }
    const once = await run(
      ["sync", "postgres", "--schema", "kills", "--once"],
      folder,
      variables(key),
    )
    expect([once.code, once.stdout]).toEqual([0, expect.stringMatching(/The copy is complete/)])
    expect(await copied("kills")).toEqual({ events: sent, xp: 2 * sent, of_users: 2 * sent })
    const ranks = await postgres.query(
      `SELECT "window", rank::int, user_id, score::int FROM leaderboard_entries
WHERE leaderboard = 'xp' AND "window" = 'all_time' ORDER BY rank`,
      "kills",
    )
    expect(ranks).toEqual([
      { window: "all_time", rank: 1, user_id: "ann", score: 8_000 },
      { window: "all_time", rank: 2, user_id: "bob", score: 4_000 },
    ])
    // What the page asks of the copy.
    const page = await readFile(new URL("../../src/cli/warehouse.md", import.meta.url), "utf8")
    const [, question] = page.match(/```sql\n(select [^`]*laurel\.leaderboard_entries[^`]*);\n```/)!
    expect(await postgres.query(question!.replaceAll("laurel.", "kills."), "kills")).toEqual([])

    const command = new Running(["sync", "postgres", "--schema", "kills"], variables(key))
    await track(key, "ann", 1)
    await command.stdout.waitFor(/Copied/)
    expect(await command.stop("SIGTERM")).toBe(0)
    const xp = 2 * sent + 2
    expect(await copied("kills")).toEqual({ events: sent + 1, xp, of_users: xp })
  })

  it("says what is missing, and what does not answer", async () => {
    const key = await server.createKey("faults")
    const { LAUREL_SYNC_TO: _, ...without } = variables(key)
    const command = ["sync", "postgres", "--once"]
    const missing = await run(command, folder, without)
    expect([missing.code, missing.stderr]).toEqual([64, expect.stringContaining("--to")])
    const wrong = await run(command, folder, { ...without, LAUREL_SYNC_TO: "warehouse" })
    expect([wrong.code, wrong.stderr]).toEqual([64, expect.stringContaining("--to must be")])
    const nowhere = { ...variables(key), LAUREL_SYNC_TO: "postgres://laurel@127.0.0.1:1/x" }
    const away = await run(command, folder, nowhere)
    expect([away.code, away.stderr]).toEqual([
      69,
      expect.stringMatching(/ECONNREFUSED.*127\.0\.0\.1:1/),
    ])
    for (const [entries, code] of [
      ["-1", 64],
      ["0", 0],
      ["1000000", 0],
      ["1000001", 64],
    ] as const) {
      const limited = await run([...command, `--board-entries=${entries}`], folder, variables(key))
      expect([entries, limited.code]).toEqual([entries, code])
    }
    const unknown = await run(command, folder, variables("lk_test_nobody"))
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringMatching(/key/i)])
  })
})
