/**
 * A rolling upgrade as src/cluster/README.md describes it: two servers of an earlier commit, each with its own packages, are
 * replaced one at a time by the present one, the owner last, while callers write to both. Then the old version is refused.
 */
import { Effect } from "effect"
import { expect, onTestFinished, test } from "vitest"
import { clusterStatusAt } from "../../src/cluster/status.ts"
import { newestFormat, spreadFormat } from "../../src/storage/postgres/formats.ts"
import { ask } from "../cluster/Caller.ts"
import { eventually, followed, ownerOf, Runner } from "../cluster/Runner.ts"
import { startRunners } from "../cluster/startCluster.ts"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { checkedOut } from "./checkedOut.ts"

/** The last version before projects are spread over partitions: it knows format 1. */
const commit = "a50ba03"

test(`from ${commit} to the present, one server at a time`, { timeout: 600_000 }, async () => {
  const sources = await checkedOut(commit)
  const postgres = await Postgres.make()
  onTestFinished(() => postgres.remove())
  const settings = {
    LAUREL_CLUSTER: await postgres.schema("rolling"),
    LAUREL_CLUSTER_LOCK_EXPIRATION: "3 seconds",
  }
  const runners = [await Runner.make(settings), await Runner.make(settings)]
  for (const runner of runners) {
    onTestFinished(() => runner.remove())
    runner.trouble = { sources }
  }
  const cluster = await startRunners(runners, settings)
  const load = cluster.load(6)
  onTestFinished(() => load.stop())
  await load.progress(100)

  const formats = async () => {
    const rows = await postgres.query("SELECT DISTINCT format FROM laurel_partition", "rolling")
    return rows.map(({ format }) => Number(format))
  }
  const upgrade = async (runner: Runner): Promise<void> => {
    expect(await runner.end("SIGTERM")).toBe(0)
    runner.trouble = {}
    await runner.start()
  }

  const owner = await ownerOf(runners)
  const other = runners.find((runner) => runner !== owner)!
  await followed(other)
  await upgrade(other)
  await followed(other)
  await load.progress(200)
  // One server of each version: nothing is written that the old one does not know.
  expect(await formats()).toEqual([1])
  const mixed = await other.createKey("mixed", { tier: "enterprise" })
  for (const { url } of runners) {
    await eventually("the project's own answer", async () => {
      const { status } = await ask(url, mixed, "/v1/project")
      return status === 200 || undefined
    })
  }

  await upgrade(owner)
  await load.progress(200)
  await eventually("the new format", async () =>
    (await formats()).every((format) => format === newestFormat) ? true : undefined,
  )
  expect(newestFormat).toBeGreaterThanOrEqual(spreadFormat)
  const later = await owner.createKey("later")
  for (const { url } of runners) expect((await ask(url, later, "/v1/project")).status).toBe(200)
  const { partitions } = await Effect.runPromise(clusterStatusAt(settings.LAUREL_CLUSTER))
  const placed = (name: string) =>
    partitions.find(({ projects }) => projects?.includes(name))?.partition
  expect([placed("mixed"), placed("later")]).toEqual([1, 2])

  await load.stop()
  expect(load.faults).toEqual([])
  await cluster.expectBoard(load)

  const late = await Runner.make(settings)
  onTestFinished(() => late.remove())
  const refused = late.run(["serve"], { sources })
  expect(await refused.ended).toBe(78)
  expect(refused.stderr).toContain(`The cluster writes format ${newestFormat}`)
})
