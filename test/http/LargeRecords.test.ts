/**
 * Commands whose record would be too large: rules, quests and badges add to the size of the
 * request.
 */
import { Result } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { decideUser } from "../../src/domain/decide/Decide.ts"
import type { Fact } from "../../src/domain/record/Record.ts"
import { domain } from "../../src/engine/actor/Environments.ts"
import { limits } from "../../src/Limits.ts"
import { startServer, type TestServer } from "./fixture.ts"

let large = false
const name = "x".repeat(limits.recordBytesMax)
const decideLarge: typeof decideUser = (user, project, command, ...rest) =>
  Result.map(decideUser(user, project, command, ...rest), (decision) => {
    const more: Fact = { kind: "badge.revoked", badgeId: "bdg_none", key: "none", name }
    return large ? { ...decision, facts: [...decision.facts, more] } : decision
  })

let server: TestServer
beforeAll(async () => {
  server = await startServer({ engineOptions: { domain: { ...domain, decideUser: decideLarge } } })
})
afterAll(() => server.stop())

const user = "/v1/users/ada"
const reward = () => server.call("POST", `${user}/rewards`, { body: { type: "xp", amount: 5 } })
const event = () =>
  server.call("POST", "/v1/events", { body: { userId: "ada", action: "LESSON_DONE" } })

describe("A command with a record above the limit", () => {
  it.each([
    ["an event", async () => event],
    ["a reward", async () => reward],
    ["a profile", async () => () => server.call("PUT", user, { body: { displayName: "Ada" } })],
    [
      "the revocation of an event",
      async () => {
        const { eventId } = (await event()).json
        return () => server.call("DELETE", `${user}/events/${eventId}`)
      },
    ],
    [
      "the revocation of a reward",
      async () => {
        const { rewardId } = (await reward()).json
        return () => server.call("DELETE", `${user}/rewards/${rewardId}`)
      },
    ],
    ["an erasure", async () => () => server.call("DELETE", user)],
  ])("%s: 413, as the operation declares, and changes nothing", async (_, prepare) => {
    await reward()
    const send = await prepare()
    const before = await server.call("GET", `${user}/export`)
    large = true
    const refused = await send().finally(() => {
      large = false
    })
    expect([refused.status, refused.json.code]).toEqual([413, "body_too_large"])
    const after = await server.call("GET", `${user}/export`)
    const exported = ({ exportedAt: _, ...rest }: Record<string, unknown>) => rest
    expect(exported(after.json)).toEqual(exported(before.json))
    expect((await send()).status).toBeLessThan(300)
  })
})
