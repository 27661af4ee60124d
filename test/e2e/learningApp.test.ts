/** The guide `src/client/learning-app.md`: its blocks run as they stand, and print what it shows; its page is live. */
import { execFile } from "node:child_process"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { useTabs } from "../dashboard/browser/tabs.ts"
import { freePort } from "../freePorts.ts"
import { Shell, type Step, stepsOf } from "./guide.ts"
import { root, Server, temporaryFolder } from "./program.ts"

const tabs = useTabs()

/** Ids of records and times differ from run to run. */
const withoutIdsAndTimes = (text: string): unknown =>
  JSON.parse(text, (name, value) => (/^(eventId|spendId|\w+At)$/.test(name) ? typeof value : value))

const follow = async (server: Server, folder: string): Promise<void> => {
  const port = await freePort()
  await mkdir(join(folder, "tmp"))
  const shell = new Shell({
    ...process.env,
    LAUREL_DATA_DIR: folder,
    LAUREL_URL: server.url,
    TMPDIR: join(folder, "tmp"),
  })
  const addressed = (text: string): string =>
    text.replaceAll("http://127.0.0.1:8080", server.url).replaceAll("3000", String(port))
  let page: Awaited<ReturnType<typeof tabs.open>> | undefined
  for (const { commands, shown } of await stepsOf("src/client/learning-app.md")) {
    const printed = await shell.run(addressed(commands))
    if (shown === undefined) expect(printed).toBe("")
    else if (shown.kind === "text") expect(printed).toBe(addressed(shown.text))
    else expect(withoutIdsAndTimes(printed)).toEqual(withoutIdsAndTimes(shown.text))
    if (printed.startsWith("Open http")) {
      // The back end ends before the page does.
      page = await tabs.open({ url: `http://127.0.0.1:${port}`, connectionsFail: true })
      await page.goto("/")
      await page.getByText("225 xp").waitFor()
      await page.getByRole("row", { name: "1 ada 2 225" }).waitFor()
    } else if (commands.includes('"ada-3"')) {
      await page!.getByRole("listitem").filter({ hasText: "Level 3" }).waitFor()
      await page!.getByRole("row", { name: "1 ada 3 300" }).waitFor()
      await page!.close()
    }
  }
}

describe("The guide of a learning app", () => {
  it("is true from its first block to its last, on a new server", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    await follow(server, folder)
    expect(await server.stop()).toBe(0)
  })

  it("is true after the first minute of README.md", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    const key = await server.firstKey()
    const rule = { action: "LESSON_DONE", reward: { xp: 50 } }
    expect((await server.request(key, "POST", "/v1/rules", rule)).status).toBe(201)
    for (const userId of ["ada", "grace"]) {
      const event = { userId, action: "LESSON_DONE", id: `lesson-of-${userId}` }
      expect((await server.request(key, "POST", "/v1/events", event)).status).toBe(200)
    }
    await follow(server, folder)
    expect(await server.stop()).toBe(0)
  })
})

describe("The client's README", () => {
  it("shows how the package comes into an app", async () => {
    const [home, app] = [await temporaryFolder(), await temporaryFolder()]
    const [{ commands }] = (await stepsOf("src/client/README.md")) as [Step]
    const [here, there] = commands.trim().split("\n") as [string, string]
    const env = {
      ...process.env,
      HOME: home,
      npm_config_offline: "true",
      npm_config_audit: "false",
    }
    const run = (line: string, cwd: string) => promisify(execFile)("sh", ["-c", line], { cwd, env })
    await run(here, root)
    await run("npm init --yes", app)
    await run(there, app)
    const program = 'import { createLaurel } from "laurel-client"; console.log(typeof createLaurel)'
    const { stdout } = await run(`node --input-type=module --eval '${program}'`, app)
    expect(stdout).toBe("function\n")
  })
})
