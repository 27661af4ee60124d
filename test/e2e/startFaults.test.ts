import { existsSync } from "node:fs"
import { mkdir, readdir, writeFile } from "node:fs/promises"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { Running, run, Server, temporaryFolder } from "./program.ts"

/** A port of this machine that is taken until the test ends. */
const takenPort = async (): Promise<string> => {
  const server = createServer()
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  onTestFinished(() => {
    server.close()
  })
  return String((server.address() as AddressInfo).port)
}

const anyPorts = { LAUREL_PORT: "0", LAUREL_ADMIN_PORT: "0" }

describe("A start that can not be", () => {
  it("tells all wrong settings at once, a line each, and warns of misspelt ones", async () => {
    const folder = join(await temporaryFolder(), "data")
    const { code, stderr, stdout } = await run(["serve"], folder, {
      LAUREL_PORT: "eighty",
      LAUREL_DURABILITY: "maybe",
      LAUREL_DATADIR: "x",
    })
    expect(code).toBe(78)
    expect(stdout).toBe("")
    expect(stderr.split("\n")).toEqual([
      "laurel: warning: LAUREL_DATADIR is not a setting and has no effect; is it misspelt?",
      'laurel: LAUREL_PORT is "eighty": it must be a whole number from 0 to 65535.',
      'laurel: LAUREL_DURABILITY is "maybe": it must be one of fsync, relaxed.',
      "",
    ])
    expect(await readdir(join(folder, ".."))).toEqual([])
  })

  it("names the port in use, its purpose and its setting, and leaves nothing behind", async () => {
    const folder = await temporaryFolder()
    const port = await takenPort()
    for (const [variable, service] of [
      ["LAUREL_PORT", "the API"],
      ["LAUREL_ADMIN_PORT", "the admin server"],
    ] as const) {
      const ended = await run(["serve"], join(folder, "data"), { ...anyPorts, [variable]: port })
      expect(ended).toEqual({
        code: 69,
        stdout: "",
        stderr: `laurel: Port ${port} of 127.0.0.1 is in use by another program, and ${service} needs it (${variable}). Stop that program, or set ${variable} to another port; 0 takes any free one.\n`,
      })
    }
    expect(await readdir(folder)).toEqual([])
  })

  it("names the setting of a host that this machine does not have, or that has no address", async () => {
    const folder = await temporaryFolder()
    // 192.0.2.0/24 is for documentation: no machine has an address of it.
    for (const variable of ["LAUREL_HOST", "LAUREL_ADMIN_HOST"]) {
      const settings = { ...anyPorts, [variable]: "192.0.2.1" }
      const { code, stderr } = await run(["serve"], join(folder, "data"), settings)
      expect(code).toBe(69)
      expect(stderr).toMatch(
        new RegExp(
          `^laurel: This machine does not have the address 192\\.0\\.2\\.1 of .*\\(${variable}\\)\\. Set ${variable} to an address of this machine.*\\n$`,
        ),
      )
    }
    expect(await readdir(folder)).toEqual([])
  })

  it.runIf(process.platform === "linux")(
    "is refused in a sentence where address space is limited to too little, and serves where that is enough",
    async () => {
      const folder = await temporaryFolder()
      const variables = { ...anyPorts, LAUREL_DATA_DIR: folder }
      for (const kibibytes of [5_000_000, 12 * 1_048_576 - 1]) {
        const refused = new Running(["serve"], variables, `ulimit -v ${kibibytes}`)
        expect(await refused.ended).toBe(78)
        expect(refused.stderr.text).toMatch(
          /^laurel: The limit on address space \(ulimit -v\) is [\d.]+ GiB, and Laurel needs 12 GiB, most of which is only reserved\. Raise or remove the limit\.\n$/,
        )
      }
      for (const users of [0, 1]) {
        const server = await Server.start(folder, {}, `ulimit -v ${12 * 1_048_576}`)
        const key = await server.firstKey()
        expect((await server.request(key, "GET", "/v1/users")).body.total).toBe(users)
        const event = { userId: "ada", action: "A" }
        expect((await server.request(key, "POST", "/v1/events", event)).status).toBe(200)
        expect(await server.stop()).toBe(0)
      }
    },
  )

  it("is refused where the heap may not take what a server needs", async () => {
    const folder = join(await temporaryFolder(), "data")
    const small = { ...anyPorts, NODE_OPTIONS: "--max-old-space-size=64" }
    const { code, stderr } = await run(["serve"], folder, small)
    expect(code).toBe(78)
    expect(stderr).toMatch(
      /^laurel: The heap of this process may take \d+ MiB, and a server needs 256 MiB\. Give .*\n$/,
    )
    expect(existsSync(folder)).toBe(false)
  })

  it("says that the data directory can not be used when a file is in its place", async () => {
    const folder = await temporaryFolder()
    const file = join(folder, "data")
    await writeFile(file, "")
    const { code, stderr } = await run(["serve"], file, anyPorts)
    expect(code).toBe(73)
    expect(stderr).toMatch(/^laurel: Cannot use the data directory \S+: .*ENOTDIR\n$/)
  })

  it.skipIf(!existsSync("/proc/self"))(
    "says so too where the system lets nobody make folders",
    async () => {
      expect(await run(["serve"], "/proc/nope", anyPorts)).toEqual({
        code: 73,
        stdout: "",
        stderr:
          "laurel: Cannot use the data directory /proc/nope: make folder /proc/nope: ENOENT\n",
      })
    },
  )

  it("says so too when the lock can not be taken", async () => {
    const folder = await temporaryFolder()
    await mkdir(join(folder, "lock"))
    const { code, stderr } = await run(["serve"], folder, anyPorts)
    expect(code).toBe(73)
    expect(stderr).toMatch(/^laurel: Cannot use the data directory .*\n$/)
  })

  it("is refused while another server has the data directory, which continues unharmed", async () => {
    const folder = await temporaryFolder()
    const first = await Server.start(folder)
    const key = await first.firstKey()
    const second = await run(["serve"], folder, anyPorts)
    expect(second.code).toBe(75)
    expect(second.stderr).toMatch(
      /^laurel: The data directory \S+ is in use by another process\. .*\n$/,
    )
    expect((await first.request(key, "GET", "/v1/leaderboard")).status).toBe(200)
    expect((await run(["keys", "list"], folder)).code).toBe(0)
    expect(await first.stop()).toBe(0)
  })

  it("tells damaged data from a disk that can not be written", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    await server.stop()
    for (const name of await readdir(join(folder, "journal"))) {
      await writeFile(join(folder, "journal", name), "no journal")
    }
    const { code, stderr } = await run(["serve"], folder, anyPorts)
    expect(code).toBe(65)
    expect(stderr).toMatch(/^laurel: The data directory \S+ is damaged: .*\n$/m)
  })
})

describe("A start with relaxed durability", () => {
  it("says so loudly", async () => {
    const server = await Server.start(await temporaryFolder(), { LAUREL_DURABILITY: "relaxed" })
    expect(server.stderr.text).toMatch(/"message":"DURABILITY RELAXED.*"level":"WARN"/)
  })
})
