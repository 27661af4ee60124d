/**
 * A data directory is imported into a cluster, and the projects of the cluster are gathered into
 * one data directory again. Real processes.
 */
import { mkdtemp, rm } from "node:fs/promises"
import os from "node:os"
import path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { exitCodes } from "../../src/cli/output/ExitCode.ts"
import { limits } from "../../src/Limits.ts"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { ServerProcess } from "../torture/ServerProcess.ts"
import { action, ask, boardPath } from "./Caller.ts"
import { eventually, Runner } from "./Runner.ts"

const embedded = { settings: { LAUREL_LOG_FORMAT: "json", LAUREL_ARCHIVE_INTERVAL: "off" } }
const names = ["first", "second", "third"]

describe("A cluster", () => {
  let postgres: Postgres
  let runner: Runner
  let folder: string
  const keys: Array<string> = []

  beforeAll(async () => {
    postgres = await Postgres.make()
    const settings = { LAUREL_CLUSTER: await postgres.schema("gather") }
    runner = await Runner.make({ ...settings, LAUREL_CLUSTER_LOCK_EXPIRATION: "1 second" })
    folder = await mkdtemp(path.join(os.tmpdir(), "laurel-gather-"))
  })

  afterAll(async () => {
    await runner?.remove()
    await postgres?.remove()
    await rm(folder, { recursive: true, force: true })
  })

  const makeKey = async (name: string): Promise<void> => {
    const create = `keys create --project ${name} --environment sandbox --json`
    const made = await eventually(`a key of ${name}`, async () => {
      const running = runner.run(create.split(" "))
      return (await running.ended) === 0 ? running.stdout : undefined
    })
    keys.push((JSON.parse(made) as { readonly key: string }).key)
  }

  /** Sent until it is answered; an event has its id. */
  const send = (url: string, key: string, path: string, body: unknown, id: string) =>
    eventually(path, async () => {
      const { status } = await ask(url, key, path, body, id)
      return status < 300 ? true : undefined
    })

  const fill = async (url: string, key: string, xp: number): Promise<void> => {
    await send(url, key, "/v1/rules", { action, reward: { xp } }, "rule")
    for (let n = 0; n < 6; n++) {
      await send(url, key, "/v1/events", { id: `e${n}`, userId: `u${n % 3}`, action }, `e${n}`)
    }
  }

  /** What callers of all projects read. */
  const seen = (url: string) =>
    Promise.all(
      keys.flatMap((key) =>
        [boardPath, "/v1/rules", "/v1/users/u1", "/v1/users/u1/history"].map((path) =>
          eventually(path, async () => {
            const { body, status } = await ask(url, key, path)
            return status === 200 ? body : undefined
          }),
        ),
      ),
    )

  it("imports a data directory, and gathers the projects of all partitions into one", async () => {
    // In.
    const before = await ServerProcess.serve(runner.directory, embedded)
    await makeKey(names[0]!)
    await fill(before.url, keys[0]!, 1)
    await before.end("SIGTERM")
    await runner.start()
    for (const [index, name] of names.entries()) {
      if (index === 0) continue
      await makeKey(name)
      await fill(runner.url, keys[index]!, index + 1)
    }
    const all = await seen(runner.url)
    const target = path.join(folder, "out")
    const gather = async () => {
      const running = runner.run(["cluster", "gather", target])
      return { code: await running.ended, ...running }
    }

    // Out.
    expect((await gather()).code).toBe(exitCodes.inUse)
    await runner.end("SIGTERM")
    if (limits.clusterPartitions > 1) {
      const alone = new ServerProcess(["serve"], path.join(runner.directory, "partitions/1"))
      expect(await alone.ended).toBe(exitCodes.refused)
      expect(alone.stderr).toContain("second, third are in other partitions")
      expect(alone.stderr).toContain("laurel cluster gather")
    }
    const out = await eventually("the servers' last heartbeat to be old", async () => {
      const done = await gather()
      return done.code === exitCodes.inUse ? undefined : done
    })
    // One is that of the first start.
    expect(out).toMatchObject({ code: 0, stdout: expect.stringContaining("4 projects, 9 users") })
    expect((await gather()).code).toBe(exitCodes.refused)
    const after = await ServerProcess.serve(target, embedded)
    expect(await seen(after.url)).toEqual(all)
    await after.end("SIGTERM")

    // The cluster is as it was.
    await runner.start()
    expect(await seen(runner.url)).toEqual(all)
    await runner.end("SIGTERM")
  })
})
