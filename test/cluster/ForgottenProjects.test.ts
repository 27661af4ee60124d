/** Projects that partition 1 has forgotten, in a real PostgreSQL. */
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { writeStatement } from "../../src/cluster/DirectoryTable.ts"
import { adoptForgotten } from "../../src/cluster/ForgottenProjects.ts"
import { laurelError } from "../../src/domain/values/Errors.ts"
import * as DurableStorage from "../../src/storage/durable/DurableStorage.ts"
import { PgConnection } from "../../src/storage/postgres/PgConnection.ts"
import { replacePartition } from "../../src/storage/postgres/ReplacePartition.ts"
import { migrate } from "../../src/storage/postgres/schema.ts"
import { startInMemory } from "../engine/fixture.ts"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { appendAll } from "../storage/records.ts"
import { temporaryFolder } from "../storage/temporaryFolder.ts"

let server: Postgres
beforeAll(async () => {
  server = await Postgres.make()
})
afterAll(() => server.remove())

const create = (id: string, name: string, partitions: number) =>
  ({ kind: "createProject", by: "operator", project: { id, name }, partitions }) as const

describe("Projects that partition 1 has forgotten", () => {
  it.live("are known again, archived, with the ids that their data has", () =>
    Effect.gen(function* () {
      const url = yield* Effect.promise(() => server.schema("forgotten"))
      const connection = yield* Effect.acquireRelease(
        Effect.sync(() => new PgConnection({ url })),
        (opened) => opened.close,
      )
      yield* migrate(connection)
      const query = (text: string) => Effect.promise(() => server.query(text, "forgotten"))
      yield* query("INSERT INTO laurel_partition VALUES (1, 'lineage', 1, 'owner', 0, 0)")
      // The directory as it was published last.
      const late = yield* startInMemory()
      for (const [id, name] of [
        ["prj_1", "one"],
        ["prj_2", "two"],
        ["prj_3", "three"],
      ] as const) {
        yield* late.engine.askDirectory(create(id, name, 3))
      }
      const published = yield* late.engine.readDirectory
      yield* connection.run(writeStatement(1, published))
      const directory = yield* temporaryFolder
      yield* Effect.scoped(
        Effect.flatMap(DurableStorage.open({ directory }), ({ storage }) =>
          appendAll(storage, [1]),
        ),
      )
      yield* Effect.scoped(replacePartition({ url, partition: 1, directory }))
      const rows = () => query("SELECT id FROM laurel_directory")
      expect(yield* rows()).toEqual([{ id: 0 }])

      // An older directory: another project has a name of those that came after.
      const { committed, engine } = yield* startInMemory()
      yield* engine.askDirectory(create("prj_1", "two", 1))
      // PostgreSQL stood still when it was asked first.
      let asked = 0
      const outage = laurelError("storage_unavailable", "PostgreSQL does not answer.")
      const askDirectory: typeof engine.askDirectory = (command) =>
        asked++ === 0 ? Effect.fail(outage) : engine.askDirectory(command)
      const adopt = (epoch: number) =>
        adoptForgotten({ connection, engine: { askDirectory }, epoch })
      // Fenced meanwhile: it is repeated by the next owner.
      yield* adopt(1)
      expect(yield* rows()).toEqual([{ id: 0 }])
      yield* adopt(2)
      const { projects } = yield* engine.readDirectory
      const [first, ...others] = projects.values()
      expect(first).toMatchObject({ id: "prj_1", name: "two" })
      expect(first!.archivedAt).toBeUndefined()
      expect(others).toMatchObject([
        { id: "prj_2", name: "two-2", partition: 2, archivedAt: expect.any(Number) },
        { id: "prj_3", name: "three", partition: 3, archivedAt: expect.any(Number) },
      ])
      expect(yield* rows()).toEqual([])
      const records = committed.length
      yield* adopt(2)
      expect(committed).toHaveLength(records)
    }).pipe(Effect.scoped),
  )
})
