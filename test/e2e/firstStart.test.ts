import { execFile } from "node:child_process"
import { readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { exitCodes } from "../../src/cli/output/ExitCode.ts"
import { Running, readServerFile, root, run, Server, temporaryFolder } from "./program.ts"

const shell = (command: string) => promisify(execFile)("sh", ["-c", command])

describe("The first start", () => {
  it("keeps its key in a file where there is no terminal, and prints three commands that work as they stand", async () => {
    const folder = join(await temporaryFolder(), "Ada's data")
    const first = await Server.start(folder)
    await first.stdout.waitFor(/leaderboard\n/)
    const file = join(folder, "first-key")
    expect(await readFile(file, "utf8")).toMatch(/^lk_test_\w{49}\n$/)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(first.stdout.text).toContain(`\n  ${file}\n`)
    expect(first.stderr.text).toContain(`"file":${JSON.stringify(file)}`)
    for (const { text } of [first.stdout, first.stderr]) expect(text).not.toContain("lk_test")
    expect(first.stdout.text).not.toContain("trying out")
    const commands = first.stdout.text.split("\n").filter((line) => /^\s*curl /.test(line))
    expect(commands).toHaveLength(3)
    const replies = []
    for (const command of commands) {
      replies.push(JSON.parse((await shell(`${command.trim()} --silent --fail-with-body`)).stdout))
    }
    expect(replies[0]).toMatchObject({ action: "LESSON_DONE", reward: { xp: 50 } })
    expect(replies[1]).toMatchObject({ userId: "ada", xp: { earned: 50, total: 50 } })
    expect(replies[2].entries).toMatchObject([{ rank: 1, userId: "ada", xp: 50 }])
    expect(await first.stop()).toBe(0)

    await rm(file)
    const again = await Server.start(folder)
    await again.stdout.waitFor(/keys create --project NAME --environment sandbox\n/)
    expect(again.stdout.text).toMatch(
      /Laurel runs at (http:\/\/127\.0\.0\.1:\d+), with its reference at \1\/docs\./,
    )
    expect(again.stdout.text).not.toContain("curl")
    expect(await again.stop()).toBe(0)
    expect(await readdir(folder)).not.toContain("first-key")
  })

  it("shows its key on a terminal, and keeps no file of it", async () => {
    const folder = await temporaryFolder()
    // The program's standard output is a terminal: `script` makes one, and prints what the program prints there.
    const terminal = new Server(folder, {}, `set -- script -qec "$*" /dev/null`)
    const [, key] = await terminal.stdout.waitFor(/shown only once:\s+(lk_test_\w{49})\s/)
    await terminal.stdout.waitFor(/leaderboard\r?\n/)
    expect(terminal.stdout.text).toContain(`curl -H "Authorization: Bearer ${key}"`)
    expect(await readdir(folder)).not.toContain("first-key")
    process.kill((await readServerFile(folder)).pid)
    expect(await terminal.ended).toBe(0)
  })

  it("says that the default data directory is for trying out, and which setting names another", async () => {
    const checkout = await temporaryFolder()
    const variables = { LAUREL_PORT: "0", LAUREL_ADMIN_PORT: "0" }
    const trial = new Running(["serve"], variables, `cd '${checkout}'`)
    await trial.stdout.waitFor(/leaderboard\n/)
    expect(trial.stdout.text).toContain(
      `\nThe data is in ${join(await realpath(checkout), "snapshots")}, for trying out: in a checkout, git clean -fdx deletes it. For data to keep, set LAUREL_DATA_DIR to`,
    )
    expect(await trial.stop()).toBe(0)
  })

  it("overwrites no file of another first start", async () => {
    const folder = await temporaryFolder()
    await writeFile(join(folder, "first-key"), "another")
    const server = await Server.start(folder)
    await server.stdout.waitFor(/leaderboard\n/)
    expect(await server.firstKey()).toBe("another")
    const names = await readdir(folder)
    const [name] = names.filter((each) => /^first-key-key_\w+$/.test(each))
    expect(await readFile(join(folder, name!), "utf8")).toMatch(/^lk_test_\w{49}\n$/)
    expect(server.stdout.text).toContain(`/${name}\n`)
  })

  it("makes a sandbox key of the enterprise tier without a limit", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    const key = await server.firstKey()
    const { stdout } = await run(["keys", "list", "--json"], folder)
    expect(JSON.parse(stdout)).toMatchObject([
      {
        project: "demo",
        environment: "sandbox",
        scope: "full",
      },
    ])
    expect(key.startsWith(JSON.parse(stdout)[0].hint)).toBe(true)
  })

  it("leaves keys, tokens and secrets out of the log", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder, { LAUREL_LOG_LEVEL: "trace" })
    const key = await server.firstKey()
    await server.request(key, "GET", "/v1/leaderboard")
    await server.request("lk_test_wrong", "GET", "/v1/leaderboard")
    const event = { userId: "u", action: "A", metadata: { card: "known-metadata" } }
    expect((await server.request(key, "POST", "/v1/events", event)).status).toBe(200)
    const webhook = { url: "https://hooks.example/known-path", events: ["*"] }
    const { body } = await server.request(key, "POST", "/v1/webhooks", webhook)
    expect(body.secret).toMatch(/^whsec_/)
    await server.stop()
    expect(server.stderr.text).not.toMatch(/lk_test|whsec|Bearer|token|secret|known-/i)
    expect(server.stderr.text).not.toContain(body.secret.slice(6))
  })

  it("gives no demo project to a data directory that has keys already", async () => {
    const folder = await temporaryFolder()
    const created = await run(
      ["keys", "create", "--project", "shop", "--environment", "production"],
      folder,
    )
    expect(created.stdout).toMatch(/^lk_live_\w{49}\n$/)
    const server = await Server.start(folder)
    await server.stdout.waitFor(/keys create --project NAME --environment sandbox\n/)
    await server.stop()
    expect(server.stdout.text).not.toMatch(/demo|first start/)
  })

  it("writes nothing that others on the machine can read", async () => {
    const folder = join(await temporaryFolder(), "data")
    const server = await Server.start(folder)
    await server.stop()
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const { mode } = await stat(join(entry.parentPath, entry.name))
      expect([entry.name, mode & 0o077]).toEqual([entry.name, 0])
    }
    expect((await stat(folder)).mode & 0o077).toBe(0)
  })

  it("keeps its compiled code for the next, beside the program", async () => {
    const folder = await temporaryFolder()
    const args = ["keys", "list"]
    // Nobody but the program itself says where.
    const variables = { NODE_COMPILE_CACHE: "" }
    // Node says what it does with each file.
    const debug = { ...variables, NODE_DEBUG_NATIVE: "COMPILE_CACHE" }
    let stderr = ""
    const accepted = async () => {
      const ended = await run(args, folder, debug)
      expect(ended.code).toBe(exitCodes.noData)
      stderr = ended.stderr
      const kept = stderr.matchAll(/code cache for ESM (\S+) was accepted/g)
      return [...kept].map(([, file]) => file)
    }
    // The first process writes the code; other tests may write the same files at that moment.
    const keys = pathToFileURL(join(root, "src/cli/commands/keys.ts")).href
    await expect.poll(accepted).toContain(keys)
    expect(stderr).toContain(join(root, "node_modules/.cache/compile"))
  })

  it("has the files in the data directory that its README lists, and no others", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    expect((await readdir(folder)).filter((name) => !name.startsWith("lock")).sort()).toEqual([
      "archives.json",
      "audit",
      "first-key",
      "journal",
      "live",
      "server.json",
      "setup-link",
    ])
    await server.stop()
    expect((await readdir(folder)).filter((name) => !name.startsWith("lock")).sort()).toEqual([
      "archives.json",
      "audit",
      "first-key",
      "journal",
      "live",
      "setup-link",
    ])
  })
})
