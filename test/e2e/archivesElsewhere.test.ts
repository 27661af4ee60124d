/** A server that archives elsewhere, and commands of a shell that has nothing but its data directory. */
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { run, Server, temporaryFolder } from "./program.ts"

describe("Beside and after a server with an archive directory of its own", () => {
  it("all commands of a bare shell mean that directory", async () => {
    const temporary = await temporaryFolder()
    const folder = join(temporary, "data")
    const archives = join(temporary, "archives")
    const laurel = async (...args: ReadonlyArray<string>) => {
      const { code, stderr, stdout } = await run(["snapshots", ...args], folder)
      expect([args[0], code, stderr]).toEqual([args[0], 0, expect.not.stringContaining("warning")])
      return stdout
    }
    const server = await Server.start(folder, {
      LAUREL_ARCHIVE_DIR: archives,
      LAUREL_ARCHIVE_HOURLY: "0",
      LAUREL_ARCHIVE_DAILY: "0",
    })
    const id = (await laurel("create")).trim()
    expect(await readdir(archives)).toEqual([id])
    expect((await readdir(join(archives, id))).sort()).not.toContain("first-key")
    const everywhere = async () => {
      expect(JSON.parse(await laurel("list", "--json"))).toMatchObject([{ id }])
      expect(await laurel("list", "--folders")).toBe(`${join(archives, id)}\n`)
      expect(await laurel("verify", id)).toContain(`${id} is good`)
      expect(await laurel("prune", "--dry-run", "--json")).toBe("[]\n")
    }
    await everywhere()
    const key = await server.createKey()
    await server.request(key, "POST", "/v1/events", { userId: "ada", action: "A" })
    const other = await run(["snapshots", "create"], folder, { LAUREL_ARCHIVE_DIR: temporary })
    expect(other.stderr).toContain(
      `LAUREL_ARCHIVE_DIR is ${temporary} here, but the server of this data directory archives in ${archives}.`,
    )
    // The server keeps only the newest.
    const newest = other.stdout.trim()
    expect(await readdir(archives)).toEqual([newest])
    expect(await server.stop()).toBe(0)

    expect(JSON.parse(await laurel("list", "--json"))).toMatchObject([{ id: newest }])
    await laurel("export", join(temporary, "export"), "--archive", newest)
    const third = (await laurel("create")).trim()
    expect(await readdir(archives)).toEqual([third])
    expect(await readdir(folder)).not.toContain("archive")
    expect(await laurel("restore", third, "--yes")).toContain("Restored: 1 user")
  })
})
