import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { describe, expect, it } from "vitest"
import { root, Server, temporaryFolder } from "./program.ts"

// In blocks of 512 bytes: the journal may grow to 3 MiB, and then its writes fail, not for lack of space.
const limitFileSize = "ulimit -f 6144"
const batch = (number: number) => ({
  events: Array.from({ length: 500 }, (_, index) => ({
    id: `e${number}-${index}`,
    userId: `u${index}`,
    action: "COUNT",
  })),
})

describe("A disk that fails under a running server", () => {
  it("ends the process at once with its own exit code, and the restart has all that was acknowledged", async () => {
    const folder = await temporaryFolder()
    const variables = { LAUREL_SNAPSHOT_INTERVAL: "1 hour" }
    const failing = await Server.start(folder, variables, limitFileSize)
    const key = await failing.createKey()
    let acknowledged = 0
    for (;;) {
      const reply = await failing
        .request(key, "POST", "/v1/events/batch", batch(acknowledged))
        .catch(() => undefined)
      if (reply === undefined) break
      expect(reply.body.accepted).toBe(500)
      acknowledged++
    }
    expect(await failing.ended).toBe(74)
    expect(failing.stderr.text).toMatch(/"message":"The disk failed;.*"level":"FATAL"/)
    expect(acknowledged).toBeGreaterThan(0)

    const server = await Server.start(folder, variables)
    for (let number = 0; number < acknowledged; number++) {
      const { body } = await server.request(key, "POST", "/v1/events/batch", batch(number))
      expect(body).toMatchObject({ accepted: 0, duplicates: 500, rejected: 0 })
    }
  })
})

/** Loaded before the program: a method of the engine throws. */
const defective = () => {
  const where = pathToFileURL(resolve(root, "src/engine/records/PendingRecords.ts"))
  const code = `import { PendingRecords } from "${where}"
    PendingRecords.prototype.release = () => { throw new TypeError("a defect of the test") }`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
}

describe("A defect in the work of a running server", () => {
  it("ends the process with 70 and its stack, not as a failure of the disk", async () => {
    const folder = await temporaryFolder()
    const variables = { ...defective(), LAUREL_SNAPSHOT_INTERVAL: "100 millis" }
    const server = new Server(folder, variables)
    expect(await server.ended).toBe(70)
    expect(server.stderr.text).toMatch(
      /A defect in Laurel stopped the process[^\n]+a defect of the test[^\n]+data:text/,
    )
    expect(server.stderr.text).not.toContain("The disk failed")
  })
})
