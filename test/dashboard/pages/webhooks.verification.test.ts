/** Runs the receivers that the dashboard offers to copy. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import path from "node:path"
import { createInterface } from "node:readline"
import { afterEach, describe, expect, it } from "vitest"
import { makeSecret, secretKey, sign } from "../../../src/webhooks/send/Signature.ts"

const folder = path.resolve(import.meta.dirname, "../../../src/dashboard/pages/webhooks")
const ends: Array<() => Promise<unknown>> = []

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, "exit")
  child.kill()
  await exit
}

/** Runs a receiver. Returns its URL, and the lines that it prints. */
const running = async (command: string, file: string, secret: string) => {
  const env = { ...process.env, WEBHOOK_SECRET: secret, PORT: "0" }
  const child = spawn(command, [file], { cwd: folder, env, stdio: ["ignore", "pipe", "ignore"] })
  ends.push(() => stop(child))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async () => String((await lines.next()).value)
  const [, port] = /Listening on port (\d+)/.exec(await line())!
  return { url: `http://127.0.0.1:${port}/`, line }
}

const body = JSON.stringify({ id: "msg_1", type: "xp.earned", data: { userId: "ada Ł" } })

const request = (secrets: ReadonlyArray<string>, seconds = Math.floor(Date.now() / 1_000)) => ({
  "webhook-id": "msg_1",
  "webhook-timestamp": String(seconds),
  "webhook-signature": sign(secrets.map(secretKey), "msg_1", seconds, body),
})

/** The receiver's expected answers. */
const tries = async (command: string, file: string): Promise<void> => {
  const [secret, other] = [makeSecret(), makeSecret()]
  const { line, url } = await running(command, file, secret)
  const statusOf = async (headers: Record<string, string>, sent = body) =>
    (await fetch(url, { method: "POST", headers, body: sent })).status
  expect(await statusOf(request([secret]))).toBe(204)
  expect(await line()).toMatch(/xp\.earned .*ada Ł/)
  expect(await statusOf(request([other, secret]))).toBe(204)
  expect(await statusOf(request([other]))).toBe(401)
  expect(await statusOf(request([secret]), body.replace("ada", "eve"))).toBe(401)
  expect(await statusOf(request([secret], 1_700_000_000))).toBe(401)
  expect(await statusOf({})).toBe(401)
  expect(await statusOf({ ...request([secret]), "webhook-timestamp": "soon" })).toBe(401)
}

const hasPython = spawnSync("python3", ["--version"]).status === 0

describe("A receiver to copy accepts only messages that Laurel signed", () => {
  it("in JavaScript", () => tries(process.execPath, "receiver.mjs"))

  it.skipIf(!hasPython)("in Python", () => tries("python3", "receiver.py"))
})
