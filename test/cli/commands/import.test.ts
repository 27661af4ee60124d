/** `laurel import csv` against a real server. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { Place } from "../../http/definitions.ts"
import { startServer, type TestServer } from "../../http/fixture.ts"
import { limitedInFile } from "../../limited.ts"
import { runCommand } from "../commands.ts"

// Few rows make several batches.
limitedInFile({ batchItemsMax: 2 })

let server: TestServer
let folder: string
beforeAll(async () => {
  server = await startServer()
  folder = await mkdtemp(join(tmpdir(), "laurel-import-"))
})
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true })
})

let files = 0
const fileWith = async (text: string): Promise<string> => {
  const file = join(folder, `${files++}`)
  await writeFile(file, text)
  return file
}
const run = async (
  { key }: Place,
  lines: ReadonlyArray<string>,
  map: object,
  ...flags: ReadonlyArray<string>
) => {
  const csv = await fileWith(lines.join("\n"))
  const args = ["import", "csv", csv, "--map", await fileWith(JSON.stringify(map)), ...flags]
  const variables = { LAUREL_KEY: key, LAUREL_URL: server.url }
  return Effect.runPromise(runCommand(args, folder, variables))
}
let places = 0
const newPlace = () => new Place(server, `import${places++}`)
const userOf = async (place: Place, id: string) => (await place.get(`/v1/users/${id}`)).json

const openings = {
  openings: {
    userId: "id",
    balances: { xp: "xp", gems: "gems" },
    earned: { gems: "all gems" },
    streaks: { daily: { current: "streak", best: "best", lastDay: "last" } },
    badges: { founder: "founded" },
  },
}
const header = "id,xp,gems,all gems,streak,best,last,founded"
const events = {
  events: {
    userId: "who",
    action: "what",
    occurredAt: "when",
    metadata: { km: { column: "km", as: "number" }, note: "note" },
  },
}

const withDefinitions = async (): Promise<Place> => {
  const place = newPlace()
  await place.post("/v1/currencies", { key: "gems", name: "Gems" })
  await place.post("/v1/streaks", { key: "daily", name: "Daily" })
  await place.post("/v1/badges", { key: "founder", name: "F", criteria: { kind: "manual" } })
  return place
}

describe("laurel import csv", () => {
  it("imports opening balances once, however often it runs", async () => {
    const place = await withDefinitions()
    const lines = [
      `\uFEFF${header}`,
      "ann,1250,3,10,12,40,2026-10-31,2025-03-01",
      '"bob, ""the"" one",5,,,0,0,,',
      "",
      "cid,0,7,7,0,9,,2024-05-06T07:08:09+02:00",
    ]
    const dry = await run(place, lines, openings, "--dry-run")
    expect(dry).toMatchObject({ code: 0, stdout: "3 rows without a fault. Nothing was sent.\n" })
    expect((await userOf(place, "ann")).code).toBe("user_not_found")
    const first = await run(place, lines, openings)
    expect([first.code, first.stdout]).toEqual([
      0,
      "3 imported, 0 there before, 0 refused by the server.\n",
    ])
    expect(await userOf(place, "ann")).toMatchObject({
      xp: 1250,
      balances: { gems: 3 },
      badges: [{ key: "founder", earnedAt: "2025-03-01T00:00:00.000Z" }],
    })
    expect((await userOf(place, encodeURIComponent('bob, "the" one'))).xp).toBe(5)
    const { streaks } = (await place.get("/v1/users/ann/streaks")).json
    expect(streaks).toMatchObject([{ best: 40, lastDay: "2026-10-31" }])
    const { streaks: past } = (await place.get("/v1/users/cid/streaks")).json
    expect(past).toMatchObject([{ current: 0, best: 9, lastDay: null }])
    const again = await run(place, lines, openings)
    expect(again.stdout).toBe("0 imported, 3 there before, 0 refused by the server.\n")
  })

  it("imports past events once, equal rows as often as the file has them", async () => {
    const place = newPlace()
    await place.post("/v1/rules", { action: "RUN", reward: { xp: 1 }, multiplierPath: "km" })
    const lines = [
      "who,what,when,km,note",
      "ann,RUN,2020-01-01T10:00:00Z,5,",
      "ann,RUN,2020-01-01T10:00:00Z,5,",
      "ann,RUN,2021-01-01,2,first",
    ]
    expect((await run(place, lines, events)).stdout).toContain("3 imported, 0 there before")
    expect((await userOf(place, "ann")).xp).toBe(12)
    const more = [...lines, "bob,RUN,2022-01-01,1,"]
    expect((await run(place, more, events)).stdout).toContain("1 imported, 3 there before")
    expect((await userOf(place, "ann")).xp).toBe(12)
    const { facts } = (await place.get("/v1/users/ann/history?kind=event.tracked")).json
    expect(facts[0].cause).toMatchObject({
      imported: true,
      occurredAt: "2021-01-01T00:00:00.000Z",
      metadata: { km: 2, note: "first" },
    })
  })

  it("takes ids, one action for all rows, and times in seconds", async () => {
    const place = newPlace()
    const map = {
      delimiter: ";",
      times: "seconds",
      events: { userId: "who", action: { value: "BUY" }, occurredAt: "at", id: "order" },
    }
    const lines = ["who;at;order", "ann;1577836800;o-1", "ann;1577836800;o-1"]
    expect((await run(place, lines, map)).stdout).toContain("1 imported, 1 there before")
    const { facts } = (await place.get("/v1/users/ann/history?kind=event.tracked")).json
    expect(facts).toMatchObject([
      { cause: { id: "o-1", action: "BUY", occurredAt: "2020-01-01T00:00:00.000Z" } },
    ])
  })

  it("names every faulty row by its line, and sends nothing", async () => {
    const place = await withDefinitions()
    const { code, stderr } = await run(
      place,
      [
        header,
        "ann,1,,,,,,",
        ',many,,,12,40,"31\n.10.",',
        "bob,1.5,,,,,,yesterday",
        "ann,2,,,,,,",
        "cid,1",
      ],
      openings,
    )
    expect(code).toBe(1)
    expect(stderr).toContain('line 3: column xp must be a number such as 1250, not "many"\n')
    expect(stderr).toContain(
      'line 3: column last must be a date such as 2026-11-01, not "31\\n.10."\n',
    )
    expect(stderr).toMatch(/line 3: \/userId .*\n/)
    expect(stderr).toMatch(/line 5: \/balances\/xp .*\n/)
    expect(stderr).toMatch(/line 5: \/badges\/0\/earnedAt .*\n/)
    expect(stderr).toContain('line 6: column id the user "ann" is in line 2 already\n')
    expect(stderr).toContain("line 7: has 2 cells, not 8\n")
    expect(stderr).toContain("4 faulty rows of 5: nothing was sent.")
    expect((await userOf(place, "ann")).code).toBe("user_not_found")
  })

  it("names each row that the server refuses, and imports the others", async () => {
    const place = newPlace()
    await place.track("old", "TAP")
    const map = { openings: { userId: "id", balances: { xp: "xp" }, earned: { xp: "all" } } }
    const lines = ["id,xp,all", "ann,1,1", "bob,2,1", "old,1,", "cid,1,"]
    const { code, stderr, stdout } = await run(place, lines, map)
    expect([code, stdout]).toEqual([1, "2 imported, 0 there before, 2 refused by the server.\n"])
    expect(stderr).toMatch(/line 3: .*\/earned/)
    expect(stderr).toMatch(/line 4: /)
    expect((await userOf(place, "cid")).xp).toBe(1)
  })

  it("takes values out of JSON in cells, by a JSON Pointer and from a list", async () => {
    const place = await withDefinitions()
    const map = {
      delimiter: "\t",
      quote: false,
      openings: {
        userId: { column: "user", at: "/id" },
        balances: {
          xp: { column: "stats", where: { Name: "kills", Version: 0 }, at: "/Value" },
          gems: { column: "wallet", at: "/a~1b/0" },
        },
        badges: { founder: { column: "badges", where: { key: "founder" }, at: "/at" } },
      },
    }
    const lines = [
      "user\tstats\twallet\tbadges",
      `{"id":"ann"}\t[{"Name":"deaths","Value":1},{"Name":"kills","Version":1,"Value":2},{"Name":"kills","Version":0,"Value":500}]\t{"a/b":[3]}\t[{"key":"founder","at":"2025-03-01"}]`,
      `{"id":"bob"}\t[]\t\t[null,{"key":"other"}]`,
    ]
    expect((await run(place, lines, map)).stdout).toContain("2 imported, 0 there before")
    expect(await userOf(place, "ann")).toMatchObject({
      xp: 500,
      balances: { gems: 3 },
      badges: [{ key: "founder", earnedAt: "2025-03-01T00:00:00.000Z" }],
    })
    expect(await userOf(place, "bob")).toMatchObject({ xp: 0, badges: [] })
  })

  it("names cells that are no JSON, or have no single value at the pointer", async () => {
    const place = newPlace()
    const map = {
      delimiter: ";",
      openings: { userId: "id", balances: { xp: { column: "xp", at: "/total" } } },
    }
    const { stderr } = await run(place, ["id;xp", "ann;{total", "bob;{total: {}}", "cid;[1]"], map)
    expect(stderr).toContain('line 2: column xp must be JSON, not "{total"\n')
    const nested = await run(place, ["id;xp", 'ann;"{""total"":{}}"'], map)
    expect(nested.stderr).toContain(
      "line 2: column xp must have a text, number or boolean at /total\n",
    )
    const wrong = { openings: { userId: { column: "id", at: "total" } } }
    expect((await run(place, ["id"], wrong)).code).toBe(1)
  })

  it("says where to go on after a failure, and goes on without sending anything twice", async () => {
    const place = newPlace()
    const lines = ["who,what,when,km,note", ...[1, 2, 3, 4, 5].map((n) => `u${n},TAP,2020-01-01,,`)]
    const send = globalThis.fetch
    let requests = 0
    vi.stubGlobal("fetch", (...args: Parameters<typeof fetch>) =>
      // The first request asks for the definitions.
      ++requests === 3 ? Promise.resolve(new Response("no", { status: 403 })) : send(...args),
    )
    const failed = await run(place, lines, events)
    vi.unstubAllGlobals()
    expect(failed.code).toBe(1)
    expect(failed.stderr).toContain("Rows up to line 3 were sent.")
    expect(failed.stderr).toContain("--from 4 skips them")
    const rest = await run(place, lines, events, "--from", "4")
    expect(rest.stdout).toContain("3 imported, 0 there before")
    expect((await run(place, lines, events)).stdout).toContain("0 imported, 5 there before")
  })

  it("refuses a faulty map, a file that is no CSV, and missing columns", async () => {
    const place = newPlace()
    const refusalOf = async (lines: ReadonlyArray<string>, map: object) => {
      const { code, stderr } = await run(place, lines, map, "--dry-run")
      return [code, stderr]
    }
    const both = { ...openings, ...events }
    expect(await refusalOf([], both)).toEqual([
      1,
      expect.stringContaining("It must have either openings or events."),
    ])
    const wrong = { openings: { userId: "id", gold: "xp" } }
    expect(await refusalOf([], wrong)).toEqual([1, expect.stringContaining("gold")])
    const unknown = { openings: { userId: "id", balances: { none: "a" }, badges: { "no.x": "b" } } }
    const words = "openings.badges.no.x: the environment has no badge with this key."
    expect(await refusalOf([], unknown)).toEqual([1, expect.stringContaining(words)])
    const plain = { openings: { userId: "id" } }
    const cases = [
      [["id,id", "ann,ann"], "The file has the column id twice."],
      [["name", "ann"], "The file has no column id. Its first line names: name."],
      [["id", '"ann'], "Quote Not Closed"],
      [[], "The file is empty."],
    ] as const
    for (const [lines, words] of cases) {
      expect(await refusalOf(lines, plain)).toEqual([1, expect.stringContaining(words)])
    }
    const missing = ["import", "csv", join(folder, "none"), "--map", join(folder, "none")]
    const end = await Effect.runPromise(runCommand(missing, folder, { LAUREL_KEY: place.key }))
    expect(end.code).toBe(1)
  })
})
