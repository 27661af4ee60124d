/** The first minute of README.md: its snippets run as they stand, and the printed reply is the one that they get. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { root, Server, temporaryFolder } from "./program.ts"

const readme = readFileSync(join(root, "README.md"), "utf8")
const section = readme.slice(readme.indexOf("## The first minute"), readme.indexOf("## Features"))
/** The snippets of a kind, one after another. */
const snippets = new Map<string, string>()
for (const [, kind, text] of section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)) {
  snippets.set(kind!, (snippets.get(kind!) ?? "") + text!)
}

/** The snippets of a kind, with the server's address in place of the default one. */
const snippet = (kind: string, url: string): string => {
  const text = snippets.get(kind)
  expect(text, `a snippet in ${kind}`).toBeDefined()
  expect(kind === "json" || text!.includes("http://127.0.0.1:8080")).toBe(true)
  return text!.replaceAll("http://127.0.0.1:8080", url)
}

/** Ids and times differ from run to run. */
const withoutIdsAndTimes = (text: string): unknown =>
  JSON.parse(text, (name, value) =>
    /^(eventId|occurredAt|receivedAt)$/.test(name) ? typeof value : value,
  )

describe("README.md", () => {
  it("shows a first minute that is true, in curl, JavaScript and Python", async () => {
    const server = await Server.start(await temporaryFolder())
    const { url } = server
    const key = await server.firstKey()
    const env = { ...process.env, LAUREL_KEY: key }
    const run = async (program: string, ...args: ReadonlyArray<string>) =>
      (await promisify(execFile)(program, args, { env })).stdout

    const replies = await run(
      "sh",
      "-c",
      `set -e\ncurl() { command curl -sS --fail-with-body "$@"; echo; }\n${snippet("sh", url).replace("lk_test_…", key)}`,
    )
    const [rule, event] = replies.trim().split("\n")
    expect(JSON.parse(rule!)).toMatchObject({ action: "LESSON_DONE", reward: { xp: 50 } })
    expect(withoutIdsAndTimes(event!)).toEqual(withoutIdsAndTimes(snippet("json", url)))

    const script = snippet("js", url)
    const [, printed] = / \/\/ (\d+)$/m.exec(script)!
    expect(await run(process.execPath, "--input-type=module", "--eval", script)).toBe(
      `${printed}\n`,
    )

    expect(await run("python3", "-c", snippet("py", url))).toBe("1 ada 50\n1 grace 50\n")
    expect(await server.stop()).toBe(0)
  })
})
