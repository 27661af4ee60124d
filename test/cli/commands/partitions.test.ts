/** Commands about archives in a cluster of several partitions, on a machine that has the data of some. */
import { once } from "node:events"
import { cp, readdir, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { limited } from "../../limited.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { runCommand } from "../commands.ts"

/** Each partition costs a few processes: three are enough. */
const threePartitions = limited({ clusterPartitions: 3 })

/** Nobody listens there, and nobody is asked. */
const cluster = { LAUREL_CLUSTER: "postgres://laurel@127.0.0.1:1/laurel" }
const keysCreate = ["keys", "create", "--project", "shop", "--environment", "sandbox"]

it.live(
  "Commands that change a partition are refused while a server of the cluster runs on the machine",
  () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      const run = (...args: ReadonlyArray<string>) =>
        runCommand(["snapshots", ...args, "--partition", "1"], root, cluster)
      const position = '{"lastSequence":1,"checksum":1}'
      const server = createServer((_, response) => response.end(position))
      const address = yield* Effect.acquireRelease(
        Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening")).pipe(
          Effect.map(() => server.address() as AddressInfo),
        ),
        () => Effect.sync(() => server.close()),
      )
      const file = {
        ...{ pid: process.pid, url: "", adminUrl: `http://127.0.0.1:${address.port}` },
        ...{ token: "t", startedAt: "" },
      }
      yield* Effect.promise(() => writeFile(join(root, "server.json"), JSON.stringify(file)))
      for (const command of [
        ["restore", "newest", "--yes"],
        ["restore", "replaced-x", "--yes"],
        ["import", join(root, "x")],
      ]) {
        const { code, stderr } = yield* run(...command)
        expect([code, stderr]).toEqual([75, expect.stringContaining("Stop it first")])
      }
      // A file that a server has left.
      server.closeAllConnections()
      yield* Effect.promise(() => once(server.close(), "close"))
      const { code } = yield* run("restore", "newest", "--yes")
      expect(code).toBe(66)
    }),
)

it.live("Commands about archives apply to all partitions or one, and name the partition", () =>
  Effect.gen(function* () {
    yield* threePartitions
    const root = yield* temporaryFolder
    const run = (...args: ReadonlyArray<string>) =>
      runCommand(["snapshots", ...args], root, cluster)
    const idOf = (line: string | undefined) => line?.split(/\s+/).at(-1)
    for (const number of ["1", "3"]) {
      yield* runCommand(keysCreate, join(root, "partitions", number))
    }

    // The first one is made last; the one that is not here is no success.
    const created = yield* run("create")
    expect(created.code).toBe(66)
    expect(created.stderr.match(/Partition \d: (Archive|No data)/g)).toEqual([
      "Partition 3: Archive",
      "Partition 1: Archive",
      "Partition 2: No data",
    ])
    const [third, first] = created.stdout.trim().split("\n") as [string, string]
    expect((yield* run("create", "--partition", "2")).code).toBe(66)
    expect(yield* run("create", "--partition", "4")).toMatchObject({
      code: 64,
      stderr: "laurel: There is no partition 4: a cluster has 1 to 3.\n",
    })
    const outside = yield* runCommand(["snapshots", "list", "--partition", "1"], root)
    expect([outside.code, outside.stderr]).toEqual([64, expect.stringContaining("LAUREL_CLUSTER")])

    const table = (yield* run("list")).stdout.split("\n")
    expect(table[0]).toMatch(/^PARTITION +TIME/)
    expect(table.slice(2, 4).map((line) => [line.trim()[0], idOf(line)])).toEqual([
      ["1", first],
      ["3", third],
    ])
    const listed = JSON.parse((yield* run("list", "--json", "--partition", "3")).stdout)
    expect(listed).toMatchObject([{ partition: 3, id: third }])
    expect((yield* run("list", "--folders")).stdout.split("\n")[1]).toContain(
      join("partitions", "3", "archive", third),
    )

    const verified = yield* run("verify")
    expect(verified).toMatchObject({ code: 0 })
    expect(verified.stdout.match(/^Partition \d: live is good/gm)).toHaveLength(2)
    const directories = [1, 3].map(
      (n) => `Data directory: ${join(root, "partitions", String(n))} (no server runs on it)\n`,
    )
    const missing = `Partition 2: No data in ${join(root, "partitions", "2")}.\n`
    expect(verified.stderr).toBe(`${directories.join("")}${missing}`)
    expect((yield* run("verify", third)).stdout).toMatch(`Partition 3: ${third} is good`)
    expect((yield* run("verify", third, "--partition", "1")).code).toBe(1)
    expect((yield* run("verify", "x")).stderr).toContain("Archive x not found.")

    const file = join(root, "export.ndjson")
    const unnamed = yield* run("export", file)
    expect([unnamed.code, unnamed.stderr]).toEqual([64, expect.stringContaining("--partition N")])
    expect((yield* run("export", file, "--partition", "all")).code).toBe(64)
    expect((yield* run("export", file, "--partition", "3")).code).toBe(0)
    expect((yield* run("import", file)).code).toBe(64)

    for (const wrong of [
      ["newest"],
      ["--to-time", "2026-11-21T10:00:00Z"],
      ["--to-sequence", "1", "--partition", "all"],
    ]) {
      expect([wrong, (yield* run("restore", ...wrong, "--yes")).code]).toEqual([wrong, 64])
    }
    const all = yield* run("restore", "newest", "--partition", "all", "--yes")
    expect(all.code).toBe(0)
    expect(all.stdout.match(/^Partition \d: Restored/gm)).toHaveLength(2)
    expect(all.stderr).toContain("Partition 2: It has no archive and stays as it is.")
    expect(all.stderr).toContain("`laurel cluster install --partition all`")
    expect(all.stderr).not.toContain("without keys")
    const alone = yield* run("restore", first)
    expect(alone.code).toBe(64)
    expect(alone.stderr).toContain("archived, without keys")
    const inThird = yield* Effect.promise(() => readdir(join(root, "partitions", "3")))
    const replaced = inThird.find((name) => name.startsWith("replaced-"))!
    const back = yield* run("restore", replaced)
    expect([back.code, back.stderr]).toEqual([64, expect.stringContaining("passed its check")])

    const archiveIn = (number: string) => join(root, "partitions", number, "archive", third)
    yield* Effect.promise(() => cp(archiveIn("3"), archiveIn("2"), { recursive: true }))
    expect(yield* run("verify", third)).toMatchObject({
      code: 64,
      stderr: expect.stringContaining("Partitions 2 and 3 have an archive"),
    })
    yield* run("create", "--partition", "1")
    const pruned = yield* runCommand(["snapshots", "prune", "--json"], root, {
      ...cluster,
      LAUREL_ARCHIVE_HOURLY: "0",
      LAUREL_ARCHIVE_DAILY: "0",
    })
    expect(JSON.parse(pruned.stdout)).toEqual([{ partition: 1, id: first }])
  }),
)
