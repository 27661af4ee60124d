/** Tables for a warehouse, which DuckDB reads, against what the API says. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { type CommandEnd, runCommand } from "../cli/commands.ts"
import { askDuckDb } from "../duckdb.ts"
import { startS3 } from "../storage/bucket/server.ts"
import { Server, temporaryFolder } from "./program.ts"

const users = ["ada", "bo", "cem", "dee"]

/** A project with three currencies and a metric, and what its users do. */
const play = async (server: Server, key: string) => {
  const send = async (method: string, path: string, body?: unknown) => {
    const { body: json, status } = await server.request(key, method, path, body)
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`)
    return json
  }
  await send("POST", "/v1/currencies", { key: "gems", name: "Gems" })
  const delay = { key: "miles", name: "Miles", pendingDays: 3 }
  await send("POST", "/v1/currencies", delay)
  const reward = { xp: 10, points: 3, currencies: { gems: 2, miles: 7 } }
  await send("POST", "/v1/rules", { action: "RUN_DONE", reward })
  const km = { key: "km", name: "Way", aggregate: "sum", actions: ["RUN_DONE"], value: "km" }
  await send("POST", "/v1/metrics", { ...km, decimals: 1 })
  const run = (userId: string, more: object = {}) =>
    send("POST", "/v1/events", { userId, action: "RUN_DONE", metadata: { km: 4.2 }, ...more })
  for (const userId of users) for (let n = 0; n < 5; n++) await run(userId, { id: `run-${n}` })
  const { eventId } = await run("ada")
  await send("DELETE", `/v1/users/ada/events/${eventId}`)
  await send("POST", "/v1/users/bo/points/spend", { amount: 4 })
  await send("PUT", "/v1/users/bo", { displayName: 'Bo "ß" 🐢', attributes: { team: "blue" } })
  await run("visitor")
  await send("POST", "/v1/users/visitor/merge", { into: "cem" })
  await run("erased")
  await send("DELETE", "/v1/users/erased")
  return send
}

const totals = `
  select currency, sum(amount) as amount, sum(spent) as spent, sum(pending) as pending
  from '$/balances/*.parquet' group by currency order by currency`

describe("An export for a warehouse", () => {
  it("has the sums of the API, beside a running server, after a kill, and in a bucket", async () => {
    const temporary = await temporaryFolder()
    const directory = join(temporary, "data")
    const server = await Server.start(directory)
    const key = await server.createKey()
    const send = await play(server, key)
    const expected: Record<string, { amount: number; pending: number }> = {}
    for (const userId of users) {
      const { balances, pending, points, xp } = await send("GET", `/v1/users/${userId}`)
      for (const [currency, amount] of Object.entries({ ...balances, points, xp })) {
        const sum = expected[currency] ?? { amount: 0, pending: 0 }
        expected[currency] = {
          amount: sum.amount + (amount as number),
          pending: sum.pending + (pending?.[currency]?.amount ?? 0),
        }
      }
    }
    const compare = async (folder: string) => {
      const found = await askDuckDb(folder, totals)
      expect(
        Object.fromEntries(
          found.map(({ amount, currency, pending }) => [currency, { amount, pending }]),
        ),
      ).toEqual(expected)
      expect(found.find(({ currency }) => currency === "points")?.spent).toBe(4)
      const persons = "select user_id, display_name, attributes, level, former_ids, xp"
      const shown = await askDuckDb(folder, `${persons} from '$/users/*.parquet' order by user_id`)
      expect(shown.map(({ user_id }) => user_id)).toEqual(users)
      for (const { user_id, xp, level } of shown) {
        expect(await send("GET", `/v1/users/${user_id}`)).toMatchObject({ xp, level })
      }
      expect(shown[1]).toMatchObject({
        display_name: 'Bo "ß" 🐢',
        attributes: '{"team":"blue"}',
        former_ids: "[]",
      })
      expect(shown[2]).toMatchObject({ former_ids: '["visitor"]' })
      // What facts earned and took back is what users have, and has each merged user once.
      const change = `case split_part(kind, '.', 2) when 'earned' then amount when 'refunded' then amount else -amount end`
      const facts = await askDuckDb(
        folder,
        `select currency, sum(${change}) as amount from '$/facts/*.parquet'
         where currency is not null group by currency`,
      )
      for (const { amount, currency } of facts) {
        expect([currency, amount]).toEqual([currency, expected[currency as string]!.amount])
      }
      expect(facts).toHaveLength(4)
      const ways = await askDuckDb(
        folder,
        `select count(*) as events, round(sum((metadata->>'km')::double), 1) as km, min(occurred_at) as since
         from '$/facts/*.parquet' where kind = 'event.tracked' and user_id <> 'visitor'`,
      )
      expect(ways).toMatchObject([{ events: 21, km: 88.2 }])
      expect((ways[0]!.since as Date).getTime()).toBeLessThanOrEqual(Date.now())
      const erased = await askDuckDb(
        folder,
        `select user_id from '$/facts/*.parquet' where user_id = 'erased' union all
         select user_id from '$/balances/*.parquet' where user_id = 'erased'`,
      )
      expect(erased).toEqual([])
    }
    const laurel = (args: ReadonlyArray<string>, variables = {}): Promise<CommandEnd> =>
      Effect.runPromise(runCommand(["export", ...args], directory, variables))

    const first = join(temporary, "first")
    const end = await laurel(["--parquet", first, "--json"])
    expect(end).toMatchObject({ code: 0 })
    expect(JSON.parse(end.stdout)).toMatchObject({ place: first, users: 4, parts: 3 })
    await compare(first)
    expect((await readdir(first)).sort()).toEqual(["balances", "export.json", "facts", "users"])
    const described = JSON.parse(await readFile(join(first, "export.json"), "utf8"))
    expect(described).toMatchObject({ format: 1, scope: null, tables: { users: { rows: 4 } } })
    expect(await laurel(["--parquet", first])).toMatchObject({ code: 1 })

    // What the page asks.
    const page = await readFile(new URL("../../src/cli/warehouse.md", import.meta.url), "utf8")
    const blocks = [...page.matchAll(/```sql\n(.*?);\n```/gs)].map(([, sql]) => sql!)
    const questions = blocks.filter((sql) => sql.includes("tables/"))
    const answers = []
    for (const sql of questions) {
      answers.push(await askDuckDb(first, sql.replaceAll("tables/", "$/")))
    }
    expect(answers).toEqual([
      expect.arrayContaining([{ currency: "gems", circulating: expected.gems!.amount }]),
      [{ action: "RUN_DONE", users: 5, events: 22 }],
      [],
    ])

    // The history of a user is in it fact by fact.
    const { facts } = await send("GET", "/v1/users/ada/history?limit=100")
    const [count] = await askDuckDb(
      first,
      "select count(*) as facts from '$/facts/*.parquet' where user_id = 'ada'",
    )
    expect(count).toEqual({ facts: facts.length })

    await server.stop("SIGKILL")
    const second = join(temporary, "second")
    expect(await laurel(["--parquet", second])).toMatchObject({ code: 0 })
    const again = await Server.start(directory)
    const request = again.request.bind(again)
    server.request = request
    await compare(second)

    const s3 = await startS3("")
    onTestFinished(s3.stop)
    const { accessKeyId, endpoint, secretAccessKey } = s3.place
    const settings = {
      AWS_ENDPOINT_URL: endpoint,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
    }
    const place = ["--parquet", "s3://archives/lake/today"]
    expect(await laurel(place, { AWS_ENDPOINT_URL: endpoint })).toMatchObject({ code: 64 })
    const sent = await laurel([...place, "--project", "shop", "--environment", "sandbox"], settings)
    expect(sent).toMatchObject({ code: 0 })
    expect(await laurel(place, settings)).toMatchObject({ code: 1 })
    const third = join(temporary, "third")
    for (const name of await s3.keys()) {
      const file = join(third, name.slice("lake/today/".length))
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, await readFile(s3.fileOf(name)))
    }
    await compare(third)
    expect(await again.stop()).toBe(0)
  })
})
