/** The archives that owners of partitions have on their machines, as commands beside another server of the cluster see them. */
import { once } from "node:events"
import { mkdir, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { withOwners } from "../../../src/cli/process/OwnerArchives.ts"
import type { ArchiveDetails } from "../../../src/storage/archive/ArchiveCatalog.ts"
import { limited } from "../../limited.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { runCommand } from "../commands.ts"

const archive = (sequence: number, more: Partial<ArchiveDetails> = {}): ArchiveDetails => ({
  ...{ id: `2026-11-21T12-00-0${sequence}.000Z-${sequence}`, folder: "/there", inBucket: null },
  ...{ createdAt: `2026-11-21T12:00:0${sequence}.000Z`, recordedAt: null, sequence, users: 0 },
  ...{ bytes: 1, reason: "request", verifiedAt: null, faults: [], ...more },
})

it("A list of archives names the owner for those that are not on this machine", () => {
  const here = archive(1, { folder: "/here", inBucket: true })
  const inBucket = archive(2, { folder: null, inBucket: true })
  const gone = archive(3, { folder: null, inBucket: true })
  const server = "10.0.0.5:8082"
  const owner = { server, archives: [archive(0), archive(1), archive(2)] }
  expect(withOwners([here, inBucket, gone], owner, false)).toEqual([
    archive(0, { folder: null, server, inBucket: false }),
    here,
    { ...inBucket, server },
    gone,
  ])
  expect(withOwners([here], undefined, null)).toEqual([here])
})

/** The admin server of this machine's server, which forwards to owners: `replies` of partitions 1 and up. */
const serverWith = Effect.fnUntraced(function* (
  root: string,
  replies: ReadonlyArray<readonly [status: number, body: unknown]>,
) {
  const server = createServer(({ url = "" }, response) => {
    const [, partition] = /^\/admin\/archives\?partition=(\d)$/.exec(url) ?? []
    const [status, body] = replies[Number(partition) - 1]!
    response.writeHead(status).end(JSON.stringify(body))
  })
  const { port } = yield* Effect.acquireRelease(
    Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening")).pipe(
      Effect.map(() => server.address() as AddressInfo),
    ),
    () => Effect.sync(() => server.close()),
  )
  const file = { pid: process.pid, url: "", adminUrl: `http://127.0.0.1:${port}` }
  const text = JSON.stringify({ ...file, token: "t", startedAt: "" })
  yield* Effect.promise(() => writeFile(join(root, "server.json"), text))
})

const partitions = (count: number) => limited({ clusterPartitions: count })

it.live(
  "Archives of owners are listed and named, also beside a server without a cluster and without an owner",
  () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      yield* partitions(2)
      // Nobody listens there, and nobody is asked.
      const cluster = { LAUREL_CLUSTER: "postgres://laurel@127.0.0.1:1/laurel" }
      const run = (...args: ReadonlyArray<string>) =>
        runCommand(["snapshots", ...args], root, cluster)
      const server = "10.0.0.5:8082"
      const { id } = archive(7)
      const found = [200, { server, archives: [archive(7)] }] as const
      const alone = [200, { server: null, archives: [] }] as const
      const missing = [503, { code: "starting", detail: "No server takes requests now." }] as const

      const replies: Array<readonly [number, unknown]> = [found, alone]
      yield* serverWith(root, replies)
      const listed = yield* run("list", "--json")
      expect(listed.code).toBe(0)
      expect(JSON.parse(listed.stdout)).toEqual([
        { ...archive(7), partition: 1, folder: null, server },
      ])
      const table = (yield* run("list")).stdout.split("\n")
      expect(table[0]).toMatch(/ WHERE +ID/)
      expect(table[2]).toMatch(new RegExp(` ${server} +${id}`))
      for (const read of [
        ["verify", id],
        ["verify", id, "--partition", "1"],
        ["export", join(root, "x"), "--archive", id],
      ]) {
        const { code, stderr } = yield* run(...read)
        const words = `The server ${server} of the cluster has archive ${id} of partition 1, in /there.`
        expect([read, code, stderr]).toEqual([read, 66, expect.stringContaining(words)])
      }
      expect((yield* run("verify", "x")).stderr).toContain("No data in")

      // What is known is listed all the same.
      replies[1] = missing
      yield* Effect.promise(() => mkdir(join(root, "partitions", "2"), { recursive: true }))
      const { code, stderr, stdout } = yield* run("list", "--json")
      expect([code, stderr]).toEqual([69, expect.stringContaining("Partition 2: No server takes")])
      expect(JSON.parse(stdout)).toMatchObject([{ id, server }])
      const unknown = yield* run("verify", "x")
      expect([unknown.code, unknown.stderr]).toEqual([
        1,
        expect.stringContaining("A former owner of the part"),
      ])
    }),
)
