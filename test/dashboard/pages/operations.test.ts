/** The page of the running server, for its owners. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { ServerState, StateNow } from "../../../src/dashboard/request/ServerState.ts"
import { laurelError } from "../../../src/domain/values/Errors.ts"
import { type Browser, type DashboardServer, startDashboard, stillServer } from "../fixture.ts"

const path = "/dashboard/operations"
const base = await Effect.runPromise(stillServer.read)

let now: StateNow = base
let archives: ServerState["archives"] = stillServer.archives
let createArchive: ServerState["createArchive"] = stillServer.createArchive
let server: DashboardServer
let owner: Browser

beforeAll(async () => {
  const state: ServerState = {
    ...stillServer,
    read: Effect.sync(() => now),
    archives: Effect.suspend(() => archives),
    createArchive: Effect.suspend(() => createArchive),
  }
  server = await startDashboard({}, { server: state })
  owner = await server.owner()
})
afterAll(() => server.stop())

const textOf = async (state: Partial<StateNow> = {}): Promise<string> => {
  now = { ...base, ...state }
  return (await owner.get(path)).text
}
const valueIn = (text: string, name: string): string | undefined =>
  new RegExp(`<dt>${name}</dt><dd>(.*?)</dd>`, "s").exec(text)?.[1]

describe("Operations", () => {
  it("show load, data and limits with their units", async () => {
    const text = await textOf({
      recent: { seconds: 50.2, eventsPerSecond: 1_234.4, p50Ms: 0.42, p99Ms: 7.53 },
      users: 12_345,
      snapshotAgeMs: 29_000,
      archiveAgeMs: 3 * 3_600_000,
      journalBytes: 3 * 1_024 ** 3,
      dataFreeBytes: 1_536 * 1_024,
    })
    expect(text).toContain("Events of the last 50 s.")
    const values = [
      ["Events a second", "1,234"],
      ["Event latency, p50", "0.42 ms"],
      ["Event latency, p99", "7.53 ms"],
      ["Users", "12,345"],
      ["Newest snapshot", "29 s old"],
      ["Newest good archive", "3 h old"],
      ["Journal", "3 GiB"],
      ["Free for data", "1.5 MiB"],
      ["Database", "unknown"],
      ["Version", "1.0.0"],
    ] as const
    for (const [name, value] of values) expect([name, valueIn(text, name)]).toEqual([name, value])
    expect(text).toContain("at most 1,000 MiB")
  })

  it("say so if there is nothing to measure, and if a value is beyond the buckets", async () => {
    const quiet = await textOf()
    expect(valueIn(quiet, "Event latency, p99")).toBe("no events")
    expect(valueIn(quiet, "Newest good archive")).toBe("none yet")
    const slow = { seconds: 60, eventsPerSecond: 1, p50Ms: 3, p99Ms: Number.POSITIVE_INFINITY }
    expect(valueIn(await textOf({ recent: slow }), "Event latency, p99")).toBe("over 10 s")
  })

  it("warn of an overload, a full disk and a failed archive", async () => {
    const calm = await textOf()
    expect(calm).not.toContain('role="alert"')
    const text = await textOf({
      isOverloaded: true,
      isDiskFull: true,
      archiveFailure: "no <space> left",
    })
    expect(text).toContain("The server is overloaded")
    expect(text).toContain("The disk is full: writes are refused")
    expect(text).toContain("could not be made: no &lt;space&gt; left")
    expect(await textOf({ isDatabaseAway: true })).toContain("PostgreSQL does not answer")
  })

  it("show the servers and partitions of a cluster, and no such section without a cluster", async () => {
    expect(await textOf()).not.toContain("Cluster")
    const partition = {
      epoch: 7,
      since: "2026-11-22T09:00:00.000Z",
      records: 12_345,
      load: 0,
    }
    const text = await textOf({
      cluster: {
        runners: [
          {
            address: "10.0.0.5:8082",
            silentSeconds: 0.25,
            lockExpirationMs: undefined,
            version: "1.1.0",
            answered: 12_000,
            forwarded: 0,
          },
          {
            address: "10.0.0.6:8082",
            silentSeconds: 90,
            lockExpirationMs: undefined,
            version: undefined,
            answered: undefined,
            forwarded: undefined,
          },
        ],
        partitions: [
          { ...partition, partition: 1, owner: "10.0.0.5:8082", projects: ["shop", "cafe"] },
          { ...partition, partition: 2, owner: "", projects: undefined },
        ],
        followers: [
          { partition: 1, address: "10.0.0.6:8082", behindRecords: 1_234, lagSeconds: 3 },
        ],
        forwardedShare: 0.1234,
      },
    })
    const cells = [...text.matchAll(/<tr>(<td.*?)<\/tr>/gs)].map(([, row]) =>
      [...row!.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell]) => cell!.replace(/<[^>]*>/g, "")),
    )
    expect(cells.slice(0, 2)).toEqual([
      ["10.0.0.5:8082", "250 ms ago", "1", "", "1.1.0", "12,000", "0"],
      ["10.0.0.6:8082", "90 s ago", "", "1", "unknown", "unknown", "unknown"],
    ])
    expect(text).toContain("12.3% of the requests of the last 60 s were forwarded.")
    const since = expect.stringContaining("2026")
    expect(cells.slice(2, 4)).toEqual([
      ["1", "10.0.0.5:8082", "7", since, "12,345", "10.0.0.6:8082: 1,234 records, 3 s", "2"],
      ["2", "none", "7", since, "12,345", "no follower", "unknown"],
    ])
    expect(await textOf({ cluster: { failure: "No <connection>" } })).toContain(
      "The state of the cluster cannot be read. No &lt;connection&gt;",
    )
  })

  it("say which of several partitions they show, and link to the others", async () => {
    const status = { epoch: 1, since: "2026-11-22T09:00:00.000Z", records: 1, load: 0, format: 2 }
    const text = await textOf({
      place: { partition: 3, address: "10.0.0.5:8082" },
      cluster: {
        runners: [],
        partitions: [2, 3].map((partition) => ({ ...status, partition, owner: "", projects: [] })),
        followers: [],
        forwardedShare: undefined,
      },
    })
    expect(valueIn(text, "Server")).toBe("10.0.0.5:8082")
    expect(text).toContain("<h2>Data of partition 3</h2>")
    expect(text).toContain("<h2>Archives of partition 3</h2>")
    expect(text).toContain("3 (shown here)")
    expect(text).toContain(`<a href="${path}?partition=2">2</a>`)
    expect(text).toContain(`export LAUREL_DATA_DIR=/var/tmp/back
npx laurel snapshots restore ARCHIVE --partition 3
npx laurel cluster install --partition 3
rm -rf /var/tmp/back`)
    expect(text).not.toContain("all servers are stopped")
    const created = await owner.post(`${path}/archives?partition=3`)
    expect(created.location).toMatch(/operations\?partition=3&done=/)
    expect((await owner.get(created.location!)).text).toContain("An archive is being made.")
  })

  it("list archives newest first, at most 100, and say how to restore one, without a button", async () => {
    const row = { sequence: 1_234, reason: "schedule", users: 20, bytes: 2_048 } as const
    archives = Effect.succeed(
      Array.from({ length: 101 }, (_, index) => ({
        ...row,
        id: `archive-${index}`,
        at: 0,
        isGood: index > 0,
      })),
    )
    const text = await textOf()
    expect(text.match(/<tr><td><code>archive-/g)).toHaveLength(100)
    expect(text).toContain("The newest 100 of 101 are shown.")
    expect(text).toContain("damaged: do not restore it")
    expect(text).toContain("npx laurel snapshots restore archive-1<")
    expect(text).toContain("2 KiB")
    expect(text).not.toMatch(/<button[^>]*>[^<]*restore/i)
    expect((await owner.get("/dashboard/runbook")).text).toContain("# The data directory")
    archives = Effect.fail(
      laurelError("storage_unavailable", "The archives cannot be listed (EIO)."),
    )
    expect(await textOf()).toContain("cannot be listed (EIO)")
    archives = stillServer.archives
  })

  it("start one archive by a button, and log who did", async () => {
    let begun = 0
    createArchive = Effect.sync(() => {
      begun++
    })
    const { location } = await owner.post(`${path}/archives`)
    expect(begun).toBe(1)
    expect((await owner.get(location!)).text).toContain("An archive is being made.")
    expect((await server.logged())[0]).toMatchObject({ action: "archive.create" })
    expect(await textOf({ isMakingArchive: true })).not.toContain("Create archive")
    createArchive = Effect.fail(laurelError("conflict", "An archive is being made already."))
    const refused = await owner.post(`${path}/archives`)
    expect(refused.status).toBe(409)
    expect(refused.text).toContain("An archive is being made already.")
    createArchive = stillServer.createArchive
  })

  it("are for owners only: others have no link to the page and get 404", async () => {
    expect(await textOf()).toContain(`<a href="${path}" aria-current="page">Operations</a>`)
    await Effect.runPromise(
      server.keys.create({ project: "shop", environment: "sandbox", scope: "full" }),
    )
    const { projects } = await Effect.runPromise(server.engine.readDirectory)
    const admin = await server.joined(owner, "grace", `admin ${[...projects.keys()][0]}`)
    expect((await admin.get("/dashboard/account")).text).not.toContain(path)
    for (const page of [path, "/dashboard/runbook"]) {
      expect((await admin.get(page)).status).toBe(404)
    }
    expect((await admin.post(`${path}/archives`)).status).toBe(404)
  })
})
