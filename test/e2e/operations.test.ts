/** The page of operations of the real process. */
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { until } from "../http/webhooks.ts"
import { setUpOwner } from "./owner.ts"
import { Server, temporaryFolder } from "./program.ts"

describe("The page of operations", () => {
  it("has the sizes of the data directory, and makes an archive", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    const browser = await setUpOwner(server, folder)
    const read = async () => (await browser.get("/dashboard/operations")).text
    const before = await read()
    for (const name of ["Journal", "Database", "Free for data", "Free for archives"]) {
      expect(before).toMatch(new RegExp(`<dt>${name}</dt><dd>[\\d.,]+ [KMGT]iB</dd>`))
    }
    expect((await browser.post("/dashboard/operations/archives")).status).toBe(303)
    const after = await until(read, (text) => text.includes("<td>good</td>"))
    const [id] = (await readdir(join(folder, "archive"))).filter((name) => !name.endsWith(".draft"))
    expect(after).toContain(`npx laurel snapshots restore ${id}`)
    expect(await server.stop()).toBe(0)
  })
})
