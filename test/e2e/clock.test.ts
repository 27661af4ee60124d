/** The real server on a machine whose clock is wrong when it starts. */
import { describe, expect, it } from "vitest"
import { Server, temporaryFolder } from "./program.ts"

const dayMs = 86_400_000
/** Loaded before the program: its clock is so many days ahead. */
const ahead = (days: number) => ({
  NODE_OPTIONS: `--import=data:text/javascript,const{now}=Date;Date.now=()=>now()+${days * dayMs}`,
})

describe("A server on a machine whose clock", () => {
  it("is months ahead of the newest record ends with 78 and says what to do, which works", async () => {
    const folder = await temporaryFolder()
    const first = await Server.start(folder)
    const key = await first.createKey()
    const send = async (server: Server) =>
      (await server.request(key, "POST", "/v1/events", { userId: "u1", action: "TAP" })).body
    await send(first)
    expect(await first.stop()).toBe(0)

    const refused = new Server(folder, ahead(100))
    expect(await refused.ended).toBe(78)
    expect(refused.stderr.text).toMatch(
      /laurel: The machine's clock shows \S+, but the newest record is from \S+, (99|100) days earlier\. Nothing was changed\.\n/,
    )
    const [, more = ""] = /LAUREL_CLOCK_JUMP_MAX="([^"]+)"/.exec(refused.stderr.text)!

    const allowed = await Server.start(folder, { ...ahead(100), LAUREL_CLOCK_JUMP_MAX: more })
    const { receivedAt } = await send(allowed)
    expect(Date.parse(receivedAt)).toBeGreaterThan(Date.now() + 99 * dayMs)
    expect(await allowed.stop()).toBe(0)

    // The clock was wrong after all: what was dated by it can not be taken back, and each start says so.
    const behind = await Server.start(folder)
    expect(behind.stderr.text).toMatch(
      /The machine's clock is behind the newest time of the data[^\n]+"behindSeconds":86\d{5}/,
    )
    const later = await send(behind)
    expect(Date.parse(later.receivedAt)).toBeGreaterThanOrEqual(Date.parse(receivedAt))
    expect(await behind.stop()).toBe(0)
  })
})
