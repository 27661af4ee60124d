/**
 * The snippets of the page /docs, as a browser shows them. Each runs unchanged, with a key and
 * existing ids.
 */
import { spawn } from "node:child_process"
import { expect, it } from "vitest"
import { useTabs } from "../../dashboard/browser/tabs.ts"
import { type Json, makeWorld, type RealIds } from "../exampleWorld.ts"
import { fullKey, startServer, type TestServer } from "../fixture.ts"

const tabs = useTabs()

/** The status of the reply to a command. The body is not read, since a stream does not end. */
const statusOf = (command: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const script = `curl() { exec curl -sSiN "$@"; }\n${command}`
    const child = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "pipe"] })
    let text = ""
    const read = (piece: Buffer): void => {
      text += piece
      const [, status] = /^HTTP\/1\.1 (\d+)/.exec(text) ?? []
      if (status === undefined) return
      resolve(Number(status))
      child.kill()
    }
    child.stdout.on("data", read)
    child.stderr.on("data", read)
    child.on("close", () => reject(new Error(`${command}\n${text}`)))
    child.on("error", reject)
  })

const ids =
  /\b(src|qst|bdg|bst|cur|exp|gol|itm|ldb|lga|mtr|rul|seg|stk|whk|evt|rwd|spd|pur|dlv)_\w+/g
const keys =
  /(?<=["/])(?:first-lesson|first-steps|good-lesson|happy-hour|active-learners|kilometres-run|gem-hunters|club-cup|streak-freeze|thousand-kilometres|thousand-points|club-run|weekly-league|daily-goal|silver-12)(?=["/\s])/g

/** A server with examples' subjects, and with a delivery and a backfill. */
const worldOf = async (server: TestServer): Promise<RealIds> => {
  const world = await makeWorld(server)
  const { json } = await server.call("POST", `/v1/webhooks/${world.whk}/test`)
  return { ...world, dlv: json.deliveryId }
}

it("run as they stand", async () => {
  const server = await startServer()
  try {
    const { json } = await server.call("GET", "/openapi.json", { key: null })
    const operations = Object.values<Json>(json.paths).flatMap((path) => Object.keys(path)).length
    const page = await tabs.open({ url: server.url })
    await page.goto("/docs")
    const cards = page.locator(".request-card pre")
    const isCommand = (text: string): boolean => text.startsWith("curl ")
    await expect
      .poll(async () => (await cards.allTextContents()).filter(isCommand).length)
      .toBe(operations)
    const snippets = (await cards.allTextContents()).filter(isCommand)
    const refused: Array<string> = []
    let world = await worldOf(server)
    for (const snippet of snippets) {
      // A delivery of a source must be signed.
      if (snippet.includes("/v1/ingest/prj_")) continue
      const isBackfill = snippet.includes("/backfill") && !snippet.includes("--request")
      const kind = snippet.includes("/v1/metrics/") ? `metrics/${world.mtr}` : `badges/${world.bdg}`
      if (isBackfill) await server.call("POST", `/v1/${kind}/backfill`)
      const command = snippet
        .replace("YOUR_SECRET_TOKEN", fullKey)
        .replaceAll(ids, (id, kind: string) => world[kind] ?? id)
        .replaceAll(keys, (key) => world[key] ?? key)
      const status = await statusOf(command)
      if (status >= 300) refused.push(`${status}: ${command}`)
      if (snippet.includes("--request DELETE")) world = await worldOf(server)
    }
    expect(refused).toEqual([])
    const sent = snippets.join("\n")
    expect(sent).not.toMatch(/idempotency-key|last-event-id|prefer:/i)
  } finally {
    await server.stop()
  }
})
