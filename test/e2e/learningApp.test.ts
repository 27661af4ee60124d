/** The guide `src/client/learning-app.md`: its blocks run as they stand, and print what it shows. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { root, Server, temporaryFolder } from "./program.ts"

const guide = readFileSync(join(root, "src/client/learning-app.md"), "utf8")

/** Ids of records and times differ from run to run. */
const withoutIdsAndTimes = (text: string): unknown =>
  JSON.parse(text, (name, value) => (/^(eventId|spendId|\w+At)$/.test(name) ? typeof value : value))

const freePort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  return port
}

describe("The guide of a learning app", () => {
  it("is true from its first block to its last", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    const mark = "== block =="
    const shown: Array<readonly [kind: string, text: string]> = []
    let script = "set -e\n"
    for (const [, kind, text] of guide.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)) {
      if (kind === "sh") script += `echo "${mark}"\n${text}\n`
      else if (kind === "js") script += `cat > $APP/backend.mjs <<'JAVASCRIPT'\n${text}JAVASCRIPT\n`
      else if (kind !== "ts") shown.push([kind!, text!])
    }
    const addressed = script
      .replaceAll("http://127.0.0.1:8080", server.url)
      .replaceAll("3000", String(await freePort()))
    const env = {
      ...process.env,
      LAUREL_DATA_DIR: folder,
      LAUREL_URL: server.url,
      LAUREL_KEY: await server.firstKey(),
      TMPDIR: folder,
    }
    const { stdout } = await promisify(execFile)("sh", ["-c", addressed], { cwd: root, env })
    const printed = stdout.split(`${mark}\n`).slice(1)
    expect(printed.length).toBe(shown.length)
    for (const [index, [kind, text]] of shown.entries()) {
      if (kind === "text") expect(printed[index]).toBe(text)
      else expect(withoutIdsAndTimes(printed[index]!)).toEqual(withoutIdsAndTimes(text))
    }
    expect(await server.stop()).toBe(0)
  })
})
