/** The npm packages of the server and of the client, installed into an empty folder from the registry's packages. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { once } from "node:events"
import { readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, onTestFinished, test } from "vitest"
import { packInto } from "../../deploy/pack.ts"
import manifest from "../../package.json" with { type: "json" }
import { commitOf } from "../../src/Build.ts"
import { addressOf, guidePages } from "../../src/http/docs/Guide.ts"
import { useTabs } from "../dashboard/browser/tabs.ts"
import { Output, readServerFile, root, sharedByAll, temporaryFolder } from "../e2e/program.ts"
import { freePorts } from "../freePorts.ts"
import { execute } from "./tools.ts"

const tabs = useTabs()

const install = (app: string, files: ReadonlyArray<string> = []) => {
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
  return execute("npm", ["install", ...quiet, ...files], { cwd: app })
}

/** Ends the process with the test, with the processes that it started. */
const endsWithTest = (started: ChildProcessWithoutNullStreams): void => {
  const ended = once(started, "exit")
  onTestFinished(async () => {
    try {
      process.kill(-started.pid!, "SIGKILL")
    } catch {}
    await ended
  })
}

describe("The installed packages", () => {
  let app: string
  let laurel: string
  sharedByAll(async () => {
    app = await temporaryFolder()
    await writeFile(join(app, "package.json"), '{ "private": true }')
    await install(app, await packInto(await temporaryFolder()))
    laurel = join(app, "node_modules/.bin/laurel")
  })

  test("publint finds nothing in them, and npm would publish both under the tag `next`", async () => {
    const printed = await execute("npm", ["run", "package:publish", "--", "--dry-run"], {
      cwd: root,
    })
    expect(printed.match(/All good!/g)).toHaveLength(2)
    for (const name of ["laurel", "laurel-client"])
      expect(printed).toContain(`+ ${name}@${manifest.version}`)
    expect(printed).toContain("with tag next")
  })

  test("the server's lists the licence of every package that npm installs with it", async () => {
    const text = await readFile(join(app, "node_modules/laurel/LICENSES.md"), "utf8")
    const listed = [...text.matchAll(/^\| (\S+) \| (\S+) \| (.+) \|$/gm)].slice(2)
    const rows = listed.map(([, name, version]) => `${name}@${version}`)
    for (const name of Object.keys(manifest.dependencies))
      expect(rows).toContain(`${name}@${manifest.dependencies[name as "effect"]}`)
    const licences = new Set(listed.map(([, , , licence]) => licence))
    // All of these permit use, change and sale, and ask for their text beside the code.
    expect([...licences].toSorted()).toEqual(["0BSD", "Apache-2.0", "BSD-3-Clause", "ISC", "MIT"])
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
    expect(files.filter((file) => /^client\/(elements|react|queue)/.test(file))).toEqual([])
  })

  test("the server counts an event, makes an archive, serves its pages and ends when told", async () => {
    const data = await temporaryFolder()
    const env = { PATH: process.env.PATH, LAUREL_DATA_DIR: data }
    const ports = { LAUREL_PORT: "0", LAUREL_ADMIN_PORT: "0" }
    const server = spawn(laurel, [], { cwd: app, env: { ...env, ...ports }, stdio: "pipe" })
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
    for (const { name } of guidePages)
      expect([name, (await fetch(`${url}${addressOf({ name })}`)).status]).toEqual([name, 200])
    expect(await execute(laurel, ["snapshots", "create"], { cwd: app, env })).toMatch(/archive/i)

    server.kill("SIGTERM")
    expect(await ended).toEqual([0, null])
  })

  test("`laurel init` writes an app whose page shows a lesson at once", async () => {
    const folder = await temporaryFolder()
    const written = await execute(laurel, ["init", "school"], { cwd: folder })
    expect(written).toContain(`+ school/packages/laurel-${manifest.version}.tgz\n`)
    expect(written).toContain("Next: cd school && npm install && npm run serve\n")
    const school = join(folder, "school")
    const [port, appPort] = await freePorts(2)
    const settings = (await readFile(join(school, ".env"), "utf8"))
      .replaceAll("8080", String(port))
      .replace("3000", String(appPort))
    await writeFile(join(school, ".env"), `${settings}LAUREL_ADMIN_PORT=0\n`)
    await install(school)
    const run = (script: string) => {
      const started = spawn("npm", ["run", script], { cwd: school, detached: true, stdio: "pipe" })
      endsWithTest(started)
      return started
    }
    await new Output(run("serve").stderr).waitFor(/"message":"Ready".*\n/)
    expect(await execute("npm", ["run", "setup"], { cwd: school })).toContain("+ rule lesson")
    await new Output(run("start").stdout).waitFor(/The app: http/)
    const page = await tabs.open({ url: `http://127.0.0.1:${appPort}`, connectionsFail: true })
    await page.goto("/")
    const profile = page.locator("laurel-profile")
    await profile.getByText("0 XP").waitFor()
    for (const xp of [50, 100, 150]) {
      await page.getByRole("button", { name: "Finish a lesson" }).click()
      await profile.getByText(`${xp} XP`).waitFor()
    }
    await page.getByText("Well done: Beginner").waitFor()
    await page.getByRole("row", { name: "1 Ada 2 150" }).waitFor()
    expect(await execute("npm", ["run", "setup"], { cwd: school })).toContain("Nothing to change.")
    await page.close()
    const command = (...args: ReadonlyArray<string>) =>
      execute("npm", ["run", "--silent", "laurel", "--", ...args], { cwd: school })
    expect(await command("keys", "list")).toContain("school")
    expect(await command("definitions", "diff", "definitions.json")).toContain("Nothing to change.")

    // The command of the container, which gets its signal alone.
    const compose = await readFile(join(school, "compose.yaml"), "utf8")
    const [program, ...args] = JSON.parse(/command: (\[.*laurel.*\])/.exec(compose)![1]!)
    const env = { ...process.env, LAUREL_DATA_DIR: await temporaryFolder(), LAUREL_PORT: "0" }
    const container = spawn(program, args, {
      cwd: school,
      env: { ...env, LAUREL_ADMIN_PORT: "0" },
      detached: true,
      stdio: "pipe",
    })
    endsWithTest(container)
    await new Output(container.stderr).waitFor(/"message":"Ready".*\n/)
    const ended = once(container, "exit")
    container.kill("SIGTERM")
    expect(await ended).toEqual([0, null])
  })
})
