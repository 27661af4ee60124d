/**
 * Definitions that are not published, or not yet begun, over HTTP with a user token: for an app, they
 * do not exist.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type DashboardServer, startDashboard } from "../dashboard/fixture.ts"
import { type Ask, asker, createKey } from "./tokens.ts"

let server: DashboardServer
let ask: Ask
let secret: string
let readKey: string
let token: string
beforeAll(async () => {
  server = await startDashboard()
  ask = asker(server)
  secret = (await createKey(server)).key
  readKey = (await createKey(server, { scope: "read" })).key
  await ask(secret, "POST /v1/users/ada/rewards", { type: "xp", amount: 10 })
  token = (await ask(secret, "POST /v1/users/ada/tokens", { scopes: ["purchases"] })).json.token
})
afterAll(() => server.stop())

const divisions = ["bronze", "silver"].map((key) => ({ key, name: key, promote: 1, demote: 1 }))

/** Each kind that users have to do with: a definition, and what an app asks about one of this key. */
const kinds = {
  badges: [{ name: "B", criteria: { kind: "xp", target: 9_000 } }, ["GET /v1/badges/KEY"]],
  goals: [{ name: "G", score: { currency: "xp" }, target: 9_000 }, ["GET /v1/goals/KEY"]],
  items: [
    { name: "I", price: { points: 1 }, reward: { xp: 1 } },
    ["GET /v1/items/KEY", "POST /v1/users/ada/purchases"],
  ],
  leaderboards: [
    { name: "L", score: { currency: "xp" }, groupBy: "city" },
    ["GET /v1/leaderboards/KEY/entries", "GET /v1/leaderboards/KEY/groups"],
  ],
  leagues: [{ name: "C", score: { currency: "xp" }, divisions }, ["GET /v1/users/ada/leagues/KEY"]],
  quests: [
    { title: "Q", reward: { xp: 1 }, optIn: true, steps: [{ key: "s", action: "RUN", target: 1 }] },
    ["GET /v1/quests/KEY", "POST /v1/users/ada/quests/KEY/start"],
  ],
  streaks: [{ name: "S", needs: [{ action: "RUN" }] }, ["GET /v1/users/ada/streaks/KEY/calendar"]],
} as const

type Kind = keyof typeof kinds

const later = "2999-01-01T00:00:00Z"

/** The status of each question about the definition with this key. */
const answers = async (kind: Kind, key: string, credential: string) => {
  const asked = kinds[kind][1].map((operation) => {
    const body = operation.endsWith("purchases") ? { item: key } : undefined
    return ask(credential, operation.replace("KEY", key), body)
  })
  return (await Promise.all(asked)).map(({ status }) => status)
}

describe("With a user token", () => {
  for (const kind of Object.keys(kinds) as ReadonlyArray<Kind>) {
    it(`drafts of ${kind} are not found, and keys that read definitions find them`, async () => {
      const [body, operations] = kinds[kind]
      const notFound = operations.map(() => 404)
      const make = async (key: string, more: object) => {
        const made = await ask(secret, `POST /v1/${kind}`, { ...body, key, ...more })
        expect([made.status, made.json]).toEqual([201, expect.anything()])
        for (const credential of [secret, readKey]) {
          expect((await ask(credential, `GET /v1/${kind}/${key}`)).status).toBe(200)
        }
      }
      await make("draft", { status: "draft" })
      expect(await answers(kind, "draft", token)).toEqual(notFound)
      expect(await answers(kind, "none", token)).toEqual(notFound)
      // A streak that has not begun is shown, with nothing kept yet.
      await make("later", { startsAt: later })
      if (kind !== "streaks") expect(await answers(kind, "later", token)).toEqual(notFound)
      await make("open", {})
      expect((await answers(kind, "open", token))[0]).toBe(200)
    })
  }

  it("a draft of a leaderboard of teams is not found", async () => {
    const board = { name: "T", score: { currency: "xp" }, entrants: "teams", teamKind: "club" }
    await ask(secret, "POST /v1/leaderboards", { ...board, key: "teams", status: "draft" })
    expect((await ask(readKey, "GET /v1/leaderboards/teams/teams")).status).toBe(200)
    expect((await ask(token, "GET /v1/leaderboards/teams/teams")).status).toBe(404)
  })

  it("a user's goals, leagues, streaks and items, and the progress, name no draft", async () => {
    for (const path of ["goals", "leagues", "streaks", "items", "progress"]) {
      const { json, status } = await ask(token, `GET /v1/users/ada/${path}`)
      expect([path, status]).toEqual([path, 200])
      expect(JSON.stringify(json)).not.toContain('"draft"')
    }
  })
})
