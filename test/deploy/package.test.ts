/** The npm package of the server, installed into an empty folder from the registry's packages. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, onTestFinished, test } from "vitest"
import manifest from "../../package.json" with { type: "json" }
import { commitOf } from "../../src/Build.ts"
import { Output, readServerFile, root, sharedByAll, temporaryFolder } from "../e2e/program.ts"
import { execute } from "./tools.ts"

describe("The installed package", () => {
  let app: string
  let laurel: string

  sharedByAll(async () => {
    const folder = await temporaryFolder()
    const target = join(folder, "package")
    await execute(process.execPath, [join(root, "deploy/package.ts"), target])
    await execute("npm", ["pack", "--pack-destination", folder], { cwd: target })
    app = await temporaryFolder()
    await writeFile(join(app, "package.json"), '{ "private": true }')
    const file = join(folder, `laurel-${manifest.version}.tgz`)
    const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    await execute("npm", ["install", ...quiet, file], { cwd: app })
    laurel = join(app, "node_modules/.bin/laurel")
  })

  test("the command runs with the Node of the package and names its version and commit", async () => {
    expect(await execute(laurel, ["--version"])).toContain(manifest.version)
    const commit = await readFile(join(app, "node_modules/laurel/commit"), "utf8")
    expect(commit).toBe(commitOf(root))
  })

  test("only scripts that a browser loads are TypeScript", async () => {
    const source = join(app, "node_modules/laurel/src")
    const files = await readdir(source, { recursive: true })
    const typed = files.filter((file) => file.endsWith(".ts"))
    expect(typed.filter((file) => !/^(dashboard\/browser|client)\//.test(file))).toEqual([])
    expect(files).toContain("main.js")
  })

  test("the server counts an event, makes an archive, serves its pages and ends when told", async () => {
    const data = await temporaryFolder()
    const env = { PATH: process.env.PATH, LAUREL_DATA_DIR: data }
    const ports = { LAUREL_PORT: "0", LAUREL_ADMIN_PORT: "0" }
    const server = spawn(laurel, ["serve"], { cwd: app, env: { ...env, ...ports }, stdio: "pipe" })
    const ended = once(server, "exit")
    onTestFinished(async () => {
      server.kill("SIGKILL")
      await ended
    })
    await new Output(server.stderr).waitFor(/"message":"Ready".*\n/)
    const { url } = await readServerFile(data)
    const key = (await readFile(join(data, "first-key"), "utf8")).trim()
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
    const post = async (path: string, body: unknown) =>
      (await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) })).json()
    await post("/v1/rules", { action: "LESSON_DONE", reward: { xp: 50 } })
    const event = { userId: "ada", action: "LESSON_DONE" }
    expect(await post("/v1/events", event)).toMatchObject({ xp: { earned: 50, total: 50 } })

    // Threads, child processes and files that are read as text have their places in the package.
    expect(await (await fetch(`${url}/docs`)).text()).toContain("<!doctype html>")
    const page = await (await fetch(`${url}/dashboard/sign-in`)).text()
    const [, style] = /href="([^"]+\.css)"/.exec(page)!
    expect((await fetch(new URL(style!, url))).status).toBe(200)
    expect(await execute(laurel, ["snapshots", "create"], { cwd: app, env })).toMatch(/archive/i)

    server.kill("SIGTERM")
    expect(await ended).toEqual([0, null])
  })
})
