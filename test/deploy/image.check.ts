/** deploy/Dockerfile without Docker: its steps in folders of this machine, and what they leave as the image's user would run it. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chown, mkdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { Output, readServerFile, root, temporaryFolder } from "../e2e/program.ts"
import { execute, programOf } from "./tools.ts"

const setpriv = programOf("setpriv", "util-linux")
const imageUser = 1000
const imageMebibytesMax = 60

interface Instruction {
  readonly name: string
  readonly text: string
}

/** The instructions of each stage. */
const stagesOf = (dockerfile: string): ReadonlyArray<ReadonlyArray<Instruction>> => {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n/g, " ")
    .split("\n")
  const stages: Array<Array<Instruction>> = []
  for (const line of lines) {
    const match = /^([A-Z]+)\s+(.*)$/.exec(line)
    if (match === null) continue
    const [, name, text] = match as unknown as [string, string, string]
    if (name === "FROM") stages.push([])
    // An ARG before the first stage is for the names of base images.
    else stages.at(-1)?.push({ name, text })
  }
  return stages
}

test("the build leaves a server that runs without rights, and ends in order by SIGTERM", async () => {
  const [build, final] = stagesOf(await readFile(join(root, "deploy/Dockerfile"), "utf8"))
  const folder = await temporaryFolder()
  const [app, checkout] = [join(folder, "app"), join(folder, "checkout")]
  await mkdir(checkout)
  for (const { name, text } of build!) {
    if (name === "COPY") {
      const names = text.split(" ")
      const to = join(checkout, names.pop()!)
      if (to.endsWith("/")) await mkdir(to, { recursive: true })
      for (const from of names) await execute("cp", ["-r", join(root, from), to])
    }
    // npm of the base image is that of this machine.
    if (name === "RUN") await execute("sh", ["-c", text], { cwd: checkout })
  }
  const kibibytes = Number((await execute("du", ["-sk", app])).split("\t")[0])
  console.log(`the image without its base: ${Math.round(kibibytes / 1024)} MiB`)
  expect(kibibytes / 1024).toBeLessThan(imageMebibytesMax)

  // `laurel mcp` loads what no start of the server does.
  await execute(process.execPath, ["--eval", "import('./src/cli/mcp/McpServers.js')"], { cwd: app })

  const data = join(folder, "data")
  await mkdir(data)
  await chown(folder, imageUser, imageUser)
  await chown(data, imageUser, imageUser)
  const settings = final!
    .filter(({ name }) => name === "ENV")
    .flatMap(({ text }) => text.split(/\s+/).map((pair) => pair.split("=") as [string, string]))
  const env = {
    ...Object.fromEntries(settings),
    LAUREL_DATA_DIR: data,
    LAUREL_HOST: "127.0.0.1",
    LAUREL_PORT: "0",
    LAUREL_ADMIN_PORT: "0",
  }
  // Owned by root, so that the process cannot write there.
  const rights = [
    "--reuid",
    `${imageUser}`,
    "--regid",
    `${imageUser}`,
    "--clear-groups",
    "--no-new-privs",
  ]
  const command = [...rights, "--bounding-set=-all", process.execPath, "src/laurel.js", "serve"]
  const child = spawn(setpriv, command, { cwd: app, env, stdio: ["ignore", "ignore", "pipe"] })
  const ended = once(child, "exit")
  onTestFinished(async () => {
    child.kill("SIGKILL")
    await ended
  })
  await new Output(child.stderr).waitFor(/"message":"Ready"/)
  const { url } = await readServerFile(data)
  const key = (await readFile(join(data, "first-key"), "utf8")).trim()
  const reply = await fetch(`${url}/v1/rules`, { headers: { authorization: `Bearer ${key}` } })
  expect(reply.status).toBe(200)

  // The command of the health check, with its port.
  const check = final!.find(({ name }) => name === "HEALTHCHECK")!.text
  const [, ...args] = JSON.parse(check.slice(check.indexOf("["))) as ReadonlyArray<string>
  const port = new URL(url).port
  await execute(process.execPath, args, { env: { LAUREL_PORT: port } })
  await expect(execute(process.execPath, args, { env: { LAUREL_PORT: "1" } })).rejects.toThrow()

  child.kill("SIGTERM")
  expect(await ended).toEqual([0, null])
})
