/** The guide `src/client/segments.md`: its blocks run as they stand, and print what it shows. */
import { describe, expect, it } from "vitest"
import { Shell, stepsOf } from "./guide.ts"
import { Server, temporaryFolder } from "./program.ts"

/** Ids and times differ from run to run. */
const comparable = (text: string): unknown =>
  JSON.parse(text, (name, value) => (/^(id|occurredAt)$/.test(name) ? typeof value : value))

describe("The guide of segments", () => {
  it("is true from its first block to its last", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    const shell = new Shell({ ...process.env, LAUREL_DATA_DIR: folder, LAUREL_URL: server.url })
    for (const { commands, shown } of await stepsOf("src/client/segments.md")) {
      const printed = await shell.run(commands.replaceAll("http://127.0.0.1:8080", server.url))
      if (shown === undefined) expect(printed).toBe("")
      else expect(comparable(printed)).toEqual(comparable(shown.text))
    }
    expect(await server.stop()).toBe(0)
  })
})
