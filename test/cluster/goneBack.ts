/**
 * One partition returns to an archive while all runners serve: the archive is restored in a
 * separate directory, then installed. Only the runner that does not own the partition has the
 * archive, so the owner cannot fill its copy. Both runners must then return the state of the
 * archive, and the webhook message that was pending in it must arrive.
 */
import { existsSync } from "node:fs"
import { cp, mkdtemp, rm } from "node:fs/promises"
import type { ServerResponse } from "node:http"
import os from "node:os"
import path from "node:path"
import { expect } from "vitest"
import { ServerProcess } from "../torture/ServerProcess.ts"
import { answer, type Received, Receiver } from "../webhooks/Receiver.ts"
import { action, ask } from "./Caller.ts"
import { eventually, ownerOf } from "./Runner.ts"
import type { Cluster } from "./startCluster.ts"

const userOf = ({ message }: Received): string => message.data.userId

/** `auditOf` reads the audit log in PostgreSQL. */
export const expectGoneBack = async (
  { keys, runners, settings }: Cluster,
  partition: number,
  auditOf: (words: string) => Promise<number>,
): Promise<void> => {
  const key = keys[partition - 1]!
  const folder = await mkdtemp(path.join(os.tmpdir(), "laurel-back-"))
  const receiver = await Receiver.start()
  // Attempts are held until `letGo`: on a slow machine retries would run out.
  const waiting: Array<ServerResponse> = []
  receiver.answer = (response) => waiting.push(response)
  const letGo = () => {
    for (const response of waiting.splice(0)) response.writeHead(503).end()
  }
  const send = (userId: string, runner = runners[0]!) =>
    eventually(`an event of ${userId}`, async () => {
      const event = { userId, action, id: `${userId}-1` }
      const { status } = await ask(runner.url, key, "/v1/events", event)
      return status === 200 || undefined
    })
  const arrived = (userId: string, since = 0) =>
    eventually(`a message of ${userId}`, async () => {
      const users = receiver.received.slice(since).map(userOf)
      return users.includes(userId) ? users : undefined
    })
  try {
    await eventually("a webhook", async () => {
      const hook = { url: receiver.url(), events: ["xp.earned"] }
      return (
        (await ask(runners[0]!.url, key, "/v1/webhooks", hook, "hook")).status === 201 || undefined
      )
    })
    await send("before")
    await arrived("before")
    const option = `--partition ${partition}`.split(" ")
    const created = await eventually("an archive", async () => {
      const creating = runners[0]!.run(["snapshots", "create", ...option])
      return (await creating.ended) === 0 ? creating.stdout.trim() : undefined
    })
    const place = (...more: ReadonlyArray<string>) =>
      path.join("partitions", `${partition}`, ...more)
    const archives = path.join(folder, "archives")
    const archived = path.join(archives, place(created))
    // Of the runner that was the owner: the owner may change on a slow machine.
    const made = runners
      .map(({ directory }) => path.join(directory, place("archive", created)))
      .find(existsSync)!
    await cp(made, archived, { recursive: true })
    await rm(made, { recursive: true })
    // Only the other runner can fill its copy, so the owner must leave the partition to it.
    const owner = await ownerOf(runners, partition)
    const other = runners.find((runner) => runner !== owner)!
    await cp(archived, path.join(other.directory, place("archive", created)), { recursive: true })
    await send("after")

    const laurel = async (directory: string, ...args: ReadonlyArray<string>) => {
      const running = new ServerProcess([...args, ...option, "--yes"], directory, {
        settings: { ...settings, LAUREL_ARCHIVE_DIR: archives },
      })
      return { code: await running.ended, text: running.stderr + running.stdout }
    }
    const back = path.join(folder, "back")
    const restored = await laurel(back, "snapshots", "restore", "newest")
    expect(restored).toMatchObject({ code: 0 })
    const beside = await laurel(owner.directory, "cluster", "install")
    expect(beside).toMatchObject({ code: 75, text: expect.stringContaining("A server runs on") })
    const audited = await auditOf("data.restore")
    const installed = await laurel(back, "cluster", "install")
    expect(installed).toMatchObject({ code: 0, text: expect.stringContaining("Servers run: ") })
    // There may be no answer yet, but no answer may come from the replaced data.
    const answers = runners.map(({ url }) => ask(url, key, "/v1/users/after"))
    for (const each of await Promise.allSettled(answers)) {
      expect(each).not.toHaveProperty("value.status", 200)
    }
    expect(await auditOf("data.restore")).toBe(audited + 1)
    letGo()

    for (const runner of runners) {
      await eventually("the state of the archive", async () => {
        const read = (user: string) => ask(runner.url, key, `/v1/users/${user}`)
        const [before, after] = [await read("before"), await read("after")]
        return (before.status === 200 && after.status === 404) || undefined
      })
    }
    const since = receiver.received.length
    receiver.answer = answer(204)
    letGo()
    await arrived("before", since)
    for (const [index, runner] of runners.entries()) {
      await send(`later-${index}`, runner)
      expect(await arrived(`later-${index}`, since)).not.toContain("after")
    }
  } finally {
    await receiver.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
