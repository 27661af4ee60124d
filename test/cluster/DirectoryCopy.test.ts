/** The directory of a cluster, published and copied through a real PostgreSQL. */
import { crc32 } from "node:zlib"
import { expect, layer } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { DirectoryCopy } from "../../src/cluster/DirectoryCopy.ts"
import { DirectoryPublisher, writeStatement } from "../../src/cluster/DirectoryTable.ts"
import { type DirectoryState, emptyDirectory } from "../../src/domain/project/Directory.ts"
import { limits } from "../../src/Limits.ts"
import { dataFormat } from "../../src/storage/format.ts"
import { PgConnection } from "../../src/storage/postgres/PgConnection.ts"
import { migrate } from "../../src/storage/postgres/schema.ts"
import { encodeValue } from "../../src/storage/SealedValue.ts"
import { type Postgres, postgres } from "../storage/postgres/Postgres.ts"
import { TcpProxy } from "../storage/postgres/TcpProxy.ts"
import { waitMs } from "../waitMs.ts"

class Server extends Context.Service<Server, Postgres>()("test/Postgres") {}

/** Beyond the time of any test, and within that of each. */
const [neverMs, soonMs] = [3_600_000, 600]
const forever = { while: () => true }
let schemas = 0

/** The directory as of a record: it has as many projects as there were records. */
const stateAt = (sequence: number): DirectoryState => ({
  ...emptyDirectory,
  sequence,
  hashSecret: "00",
  projects: new Map(
    Array.from({ length: sequence }, (_, n) => [
      `prj_${n}`,
      { id: `prj_${n}`, name: `p${n}`, createdAt: n },
    ]),
  ),
})

/** A schema whose partition 1 has an owner of epoch 1. */
const prepared = Effect.gen(function* () {
  const server = yield* Server
  const name = `directory_${++schemas}`
  const url = yield* Effect.promise(() => server.schema(name))
  const connection = yield* connectionTo(url)
  yield* migrate(connection)
  const query = (text: string) => Effect.promise(() => server.query(text, name))
  yield* query("INSERT INTO laurel_partition VALUES (1, 'lineage', 1, 'owner', 0, 0)")
  return { connection, name, query, server, url }
})

const connectionTo = (url: string) =>
  Effect.acquireRelease(
    Effect.sync(() => new PgConnection({ url })),
    (connection) => connection.close,
  )

/** An owner's directory, changed as by an engine: a change returns when it is published. */
const owning = (connection: PgConnection, epoch: number, from = 0) =>
  Effect.gen(function* () {
    let state = stateAt(from)
    const publisher = new DirectoryPublisher({
      connection,
      epoch,
      read: Effect.sync(() => state),
    })
    const running = yield* Effect.forkScoped(publisher.run)
    const tryChange = (sequence: number) => {
      state = stateAt(sequence)
      return publisher.published(sequence)
    }
    // On a busy machine PostgreSQL may answer late.
    const change = (sequence: number) =>
      Effect.retry(
        Effect.suspend(() => tryChange(sequence)),
        forever,
      )
    return { change, ended: Fiber.join(running), tryChange }
  })

/** As `copy.has`, however late PostgreSQL answers. */
const reached = (copy: DirectoryCopy, sequence: number) => Effect.retry(copy.has(sequence), forever)

/** Until it is so; the time that this takes decides nothing, unless it never becomes so. */
const until = (isSo: () => boolean) =>
  Effect.gen(function* () {
    while (!isSo()) yield* Effect.sleep(5)
  }).pipe(
    Effect.timeoutOrElse({
      duration: waitMs,
      orElse: () => Effect.die(new Error(`It never became so: ${isSo}`)),
    }),
  )

const hexOf = (value: Uint8Array) => Buffer.from(value).toString("hex")

/** An intact value of another format. */
const otherValue = (): Uint8Array => {
  const value = Buffer.from(encodeValue("{}"))
  const end = value.length - 4
  value[0] = dataFormat + 1
  value.writeUInt32LE(crc32(value.subarray(0, end)), end)
  return value
}

layer(Layer.effect(Server, postgres), { excludeTestServices: true })(
  "The directory of a cluster",
  (it) => {
    it.effect("is published as of an earlier record, where nothing has changed since", () =>
      Effect.gen(function* () {
        const { connection } = yield* prepared
        let state = stateAt(1)
        const read = Effect.sync(() => state)
        const publisher = new DirectoryPublisher({ connection, epoch: 1, read })
        yield* Effect.forkScoped(publisher.run)
        const published = (sequence: number) => Effect.retry(publisher.published(sequence), forever)
        expect(yield* published(1)).toBe(1)
        state = { ...state, sequence: 2 }
        expect(yield* published(2)).toBe(1)
        state = stateAt(3)
        expect(yield* published(3)).toBe(3)
      }),
    )

    it.effect("is with each runner once its change was answered", () =>
      Effect.gen(function* () {
        const { connection, url } = yield* prepared
        const copies = yield* Effect.all([
          DirectoryCopy.open({ url, staleMs: neverMs }),
          DirectoryCopy.open({ url, staleMs: neverMs }),
        ])
        expect(copies[0].isCurrent).toBe(false)
        const owner = yield* owning(connection, 1)
        yield* owner.change(1)
        for (const copy of copies) {
          yield* reached(copy, 1)
          expect(copy.state).toEqual(stateAt(1))
          expect(copy.isCurrent).toBe(true)
        }
        yield* Effect.all([owner.change(2), owner.change(3)], { concurrency: "unbounded" })
        yield* reached(copies[0], 3)
        const late = yield* DirectoryCopy.open({ url, staleMs: neverMs })
        yield* reached(late, 3)
        expect(late.state).toEqual(stateAt(3))
      }),
    )

    it.effect("is read again on request, also where nothing has changed", () =>
      Effect.gen(function* () {
        const { connection, query, url } = yield* prepared
        const copy = yield* DirectoryCopy.open({ url, staleMs: neverMs })
        const first = yield* Effect.forkScoped(copy.renewed, { startImmediately: true })
        yield* until(() => copy.failure === "The published directory is not there")
        expect(first.pollUnsafe()).toBeUndefined()
        yield* connection.run(writeStatement(1, stateAt(1)))
        yield* Fiber.join(first)
        expect(copy.state).toEqual(stateAt(1))
        yield* copy.renewed
        // Nobody notifies of it.
        const value = hexOf(encodeValue('{"projects":[],"keys":[]}'))
        yield* query(`UPDATE laurel_directory SET sequence = 2, state = '\\x${value}'`)
        yield* copy.renewed
        expect(copy.state.projects.size).toBe(0)
      }),
    )

    it.effect("is read for all who ask together, and not more often than the bound says", () =>
      Effect.gen(function* () {
        const { connection, query, url } = yield* prepared
        yield* connection.run(writeStatement(1, stateAt(1)))
        // PostgreSQL counts the reads.
        yield* query(`ALTER TABLE laurel_directory RENAME TO counted; CREATE SEQUENCE reads;
          CREATE VIEW laurel_directory AS SELECT * FROM counted WHERE nextval('reads') > 0`)
        const copy = yield* DirectoryCopy.open({ url, staleMs: neverMs })
        yield* copy.renewed
        const reads = Effect.map(
          connection.run({ text: "SELECT last_value FROM reads" }),
          ([row]) => Number(row!.last_value),
        )
        const before = yield* reads
        const startedAt = performance.now()
        let asked = 0
        // One after the other, and all together.
        const caller = Effect.gen(function* () {
          while (asked < 300) {
            asked++
            yield* copy.renewed
          }
        })
        yield* Effect.all(
          Array.from({ length: 50 }, () => caller),
          { concurrency: "unbounded" },
        )
        const elapsedMs = performance.now() - startedAt
        const most =
          elapsedMs / limits.directoryReadPauseMs + elapsedMs / limits.directoryPollMs + 2
        const read = (yield* reads) - before
        expect(read).toBeGreaterThan(0)
        expect(read).toBeLessThanOrEqual(most)
      }),
    )

    it.effect("is written when something changed, not after a heartbeat", () =>
      Effect.gen(function* () {
        const { connection, query } = yield* prepared
        const owner = yield* owning(connection, 1)
        yield* owner.change(1)
        const version = query("SELECT xmin::text AS version, sequence FROM laurel_directory")
        const before = yield* version
        const { sequence: _, ...same } = stateAt(1)
        const publisher = new DirectoryPublisher({
          connection,
          epoch: 1,
          read: Effect.sync(() => ({ ...same, sequence: ++reads })),
        })
        let reads = 1
        yield* Effect.forkScoped(publisher.run)
        yield* publisher.published(2)
        const first = yield* version
        expect(first).not.toEqual(before)
        yield* publisher.published(reads + 1)
        yield* publisher.published(reads + 1)
        expect(yield* version).toEqual(first)
      }),
    )

    it.effect("is found without a notification", () =>
      Effect.gen(function* () {
        const { connection, query, url } = yield* prepared
        yield* connection.run(writeStatement(1, stateAt(1)))
        const copy = yield* DirectoryCopy.open({ url, staleMs: neverMs })
        yield* reached(copy, 1)
        const value = hexOf(encodeValue('{"projects":[],"keys":[]}'))
        yield* query(`UPDATE laurel_directory SET sequence = 2, state = '\\x${value}'`)
        yield* reached(copy, 2)
        expect(copy.state.projects.size).toBe(0)
      }),
    )

    it.effect("is not written by an owner whose claim is not the latest", () =>
      Effect.gen(function* () {
        const { connection, query, url } = yield* prepared
        const former = yield* owning(connection, 1)
        yield* former.change(5)
        yield* query("UPDATE laurel_partition SET epoch = 2")
        const refused = yield* Effect.flip(former.tryChange(6))
        expect(refused).toMatchObject({ code: "storage_unavailable" })
        yield* former.ended
        expect(yield* Effect.flip(former.tryChange(7))).toMatchObject({
          code: "storage_unavailable",
        })
        const copy = yield* DirectoryCopy.open({ url, staleMs: neverMs })
        yield* reached(copy, 5)
        expect(copy.state).toEqual(stateAt(5))
        // The journal of the next owner may have been restored: fewer records count, with a later claim.
        const next = yield* owning(yield* connectionTo(url), 2, 3)
        yield* next.change(3)
        yield* until(() => copy.state.sequence === 3)
        // Late: on its way since before the claim.
        yield* query("UPDATE laurel_partition SET epoch = 1")
        expect(yield* connection.run(writeStatement(1, stateAt(9)))).toEqual([])
        const [row] = yield* query("SELECT epoch, sequence FROM laurel_directory")
        expect(row).toEqual({ epoch: "2", sequence: "3" })
      }),
    )

    it.effect("stays readable where the row is damaged, and is then not current", () =>
      Effect.gen(function* () {
        const { connection, query, url } = yield* prepared
        // No owner runs, which would write the row again.
        yield* connection.run(writeStatement(1, stateAt(1)))
        const copy = yield* DirectoryCopy.open({ url, staleMs: soonMs })
        yield* reached(copy, 1)
        for (const [state, words] of [
          ["set_byte(state, 9, get_byte(state, 9) # 1)", "The published directory is damaged"],
          [`'\\x${hexOf(encodeValue("{}"))}'::bytea`, "The published directory is no directory"],
          ["set_byte(state, 0, get_byte(state, 0) # 1)", "The published directory is damaged"],
          [
            `'\\x${hexOf(otherValue())}'::bytea`,
            `The published directory has format ${dataFormat + 1}`,
          ],
          ["''::bytea", "The published directory is damaged"],
        ]) {
          yield* query(`UPDATE laurel_directory SET sequence = sequence + 1, state = ${state}`)
          yield* until(() => copy.failure?.startsWith(words!) === true)
          yield* until(() => !copy.isCurrent)
          expect(copy.state).toEqual(stateAt(1))
          yield* query("DELETE FROM laurel_directory")
          yield* until(() => copy.failure === "The published directory is not there")
          yield* connection.run(writeStatement(1, stateAt(1)))
          yield* until(() => copy.isCurrent)
        }
      }),
    )

    it.effect("stays readable without PostgreSQL, is then not current, and goes on after it", () =>
      Effect.gen(function* () {
        const { connection, name, server, url } = yield* prepared
        const proxy = yield* Effect.acquireRelease(
          Effect.promise(() => TcpProxy.before(server.port)),
          (each) => Effect.promise(() => each.close()),
        )
        const owner = yield* owning(connection, 1)
        yield* owner.change(1)
        const throughProxy = server.urlOf(name, proxy.port)
        const copy = yield* DirectoryCopy.open({ url: throughProxy, staleMs: soonMs })
        const other = yield* DirectoryCopy.open({ url, staleMs: neverMs })
        yield* Effect.all([reached(copy, 1), reached(other, 1)])
        proxy.down()
        yield* owner.change(2)
        yield* reached(other, 2)
        yield* until(() => copy.failure?.includes("PostgreSQL") === true)
        yield* until(() => !copy.isCurrent)
        expect(copy.state).toEqual(stateAt(1))
        proxy.up()
        yield* reached(copy, 2)
        yield* until(() => copy.isCurrent)
      }),
    )

    it.effect("is published as soon as PostgreSQL answers again", () =>
      Effect.gen(function* () {
        const { name, server, url } = yield* prepared
        const proxy = yield* Effect.acquireRelease(
          Effect.promise(() => TcpProxy.before(server.port)),
          (each) => Effect.promise(() => each.close()),
        )
        const owner = yield* owning(yield* connectionTo(server.urlOf(name, proxy.port)), 1)
        yield* owner.change(1)
        proxy.down()
        const changing = yield* Effect.forkScoped(owner.change(2))
        yield* Effect.yieldNow
        proxy.up()
        yield* Fiber.join(changing)
        const copy = yield* DirectoryCopy.open({ url, staleMs: neverMs })
        yield* reached(copy, 2)
      }),
    )

    it.effect("is written again after a while, which replaces a damaged row", () =>
      Effect.gen(function* () {
        const { connection, query } = yield* prepared
        yield* owning(connection, 1, 1)
        const read = connection.run({ text: "SELECT state FROM laurel_directory" })
        const row = Effect.map(read, ([one]) => one?.state as Buffer | undefined)
        let whole: Buffer | undefined
        while (whole === undefined) whole = yield* row
        yield* query("UPDATE laurel_directory SET state = ''")
        let passedMs = 0
        while ((yield* row)?.length === 0) {
          yield* TestClock.adjust(limits.directoryPollMs)
          passedMs += limits.directoryPollMs
        }
        expect(yield* row).toEqual(whole)
        expect(passedMs).toBeGreaterThanOrEqual(limits.directoryRepublishMs)
      }).pipe(Effect.provide(TestClock.layer())),
    )

    it.effect("is waited for as long as the bound says, by its owner and by a copy", () =>
      Effect.gen(function* () {
        const url = "postgres://laurel@127.0.0.1:1/postgres"
        const connection = yield* connectionTo(url)
        const publisher = new DirectoryPublisher({
          connection,
          epoch: 1,
          read: Effect.succeed(stateAt(1)),
        })
        const copy = yield* DirectoryCopy.open({ url, staleMs: neverMs })
        for (const waiting of [publisher.published(1), copy.has(1)]) {
          const waits = yield* Effect.forkScoped(Effect.exit(waiting), { startImmediately: true })
          yield* TestClock.adjust(limits.directoryPublishedMs - 1)
          expect(waits.pollUnsafe()).toBeUndefined()
          yield* TestClock.adjust(1)
          expect(Exit.isFailure(yield* Fiber.join(waits))).toBe(true)
        }
      }).pipe(Effect.provide(TestClock.layer())),
    )
  },
)
