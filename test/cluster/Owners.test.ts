/** The owners as the servers of a cluster know them, from a real PostgreSQL. */
import { expect, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { type Owners, openOwners } from "../../src/cluster/Owners.ts"
import { PgConnection } from "../../src/storage/postgres/PgConnection.ts"
import { migrate } from "../../src/storage/postgres/schema.ts"
import { type Postgres, postgres } from "../storage/postgres/Postgres.ts"

class Server extends Context.Service<Server, Postgres>()("test/Postgres") {}

const addresses = ["127.0.0.1:1001", "127.0.0.1:1002"] as const

let schemas = 0

/** Two servers; the first owns partition 1. */
const twoServers = Effect.gen(function* () {
  const server = yield* Server
  const url = yield* Effect.promise(() => server.schema(`owners_${++schemas}`))
  const connection = yield* Effect.acquireRelease(
    Effect.sync(() => new PgConnection({ url })),
    ({ close }) => close,
  )
  yield* migrate(connection)
  yield* connection.run({
    text: `INSERT INTO laurel_partition (id, lineage, epoch, owner, last, checksum)
      VALUES (1, 'ours', 1, $1, 0, 0)`,
    values: [addresses[0]],
  })
  const open = (address: string) => openOwners({ url, address, lockExpirationMs: 300_000 })
  return { connection, first: yield* open(addresses[0]), second: yield* open(addresses[1]) }
})

const changed = (owners: Owners) => Effect.promise(() => owners.changed(600_000))

layer(Layer.effect(Server, postgres), { excludeTestServices: true })("An owner", (it) => {
  it.effect("that announces itself ends all waiting, also on other servers", () =>
    Effect.gen(function* () {
      const { first, second } = yield* twoServers
      const known = second.of(1)
      expect(known).toEqual({ address: addresses[0], epoch: 1 })
      const waiting = Effect.all([first, second].map(changed), { concurrency: "unbounded" })
      yield* Effect.all([waiting, Effect.sync(() => first.announce(1))], {
        concurrency: "unbounded",
      })
      const announced = second.of(1)
      expect(announced).toEqual(known)
      expect(announced).not.toBe(known)
    }),
  )

  it.effect("is the same object however often it is read, and another one with each claim", () =>
    Effect.gen(function* () {
      const { connection, second } = yield* twoServers
      const known = second.of(1)
      yield* Effect.promise(() => second.renew())
      expect(second.of(1)).toBe(known)
      yield* connection.run({ text: "UPDATE laurel_partition SET epoch = 2" })
      yield* Effect.promise(() => second.renew())
      expect(second.of(1)).toEqual({ address: addresses[0], epoch: 2 })
    }),
  )

  it.effect(
    "is read again at once after PostgreSQL has ended the session, which is no outage",
    () =>
      Effect.gen(function* () {
        const { connection, second } = yield* twoServers
        const read = Effect.promise(() => second.renew())
        yield* connection.run({ text: "UPDATE laurel_partition SET epoch = 2" })
        const ended = yield* connection.run({
          text: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE pid <> pg_backend_pid() AND query LIKE '%laurel_%'`,
        })
        expect(ended.length).toBeGreaterThan(0)
        yield* read
        expect(second.failure).toBeUndefined()
        expect(second.of(1)).toEqual({ address: addresses[0], epoch: 2 })
      }),
  )
})
