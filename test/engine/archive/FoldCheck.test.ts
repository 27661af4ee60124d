/** The check of users against the fold of their records. */
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { UserState } from "../../../src/domain/user/User.ts"
import { NewUsers, SavedUsers } from "../../../src/engine/archive/check/SavedUsers.ts"
import { verify } from "../../../src/engine/archive/check/Verification.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { namesPrefix } from "../../../src/engine/records/Names.ts"
import { compositeKey, rangeOf } from "../../../src/storage/Keys.ts"
import { openLmdbStore } from "../../../src/storage/lmdb/LmdbStore.ts"
import { type Entry, type StoredEntry, type Table, tables } from "../../../src/storage/Storage.ts"
import { limited } from "../../limited.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { reward, sandbox } from "../fixture.ts"
import { alone, busy, found, running } from "./fixture.ts"

const users = 7

/** A data directory that was closed in order; `u6` was erased and created again, `u5` was erased. */
const closed = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const { close, engine } = yield* running({ directory, host, segmentBytes: 16_000 })
  yield* found(engine)
  yield* busy(engine, users)
  for (const userId of ["u5", "u6"]) {
    yield* engine.askUser(sandbox, { userId, command: { kind: "erasure" } })
  }
  yield* engine.askUser(sandbox, reward("u6", 3))
  yield* close()
  return directory
})

const findingsOf = (folder: string) =>
  Effect.map(Effect.scoped(verify({ folder }, alone)), ({ findings }) => findings)

/** Puts another state in the place of a user's; `undefined`: none. All buckets are written again. */
const change = (
  directory: string,
  userId: string,
  to: (state: UserState | undefined) => UserState | undefined,
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const folder = path.join(directory, "live")
      const store = yield* openLmdbStore({ folder })
      const before: Array<StoredEntry> = []
      for (const table of tables) {
        const range = { table, ...rangeOf(new Uint8Array()) } as const
        yield* Stream.runForEach(store.readEntries(range), (entries) =>
          Effect.sync(() => {
            for (const [key, value] of entries) before.push([key, Uint8Array.from(value)])
          }),
        )
        entriesOf.set(table, before.splice(0))
      }
      const saved = new SavedUsers(
        (table, prefix) =>
          entriesOf.get(table)!.filter(([key]) => Buffer.from(key).indexOf(prefix) === 0),
        (words) => expect.unreachable(words),
      )
      const users = new NewUsers()
      let changed = false
      for (const user of saved.inOrder()) {
        const isIt = user.environment === sandbox && user.userId === userId
        const state = isIt ? to(saved.read(user)) : saved.read(user)
        changed ||= isIt
        if (state !== undefined) users.add(user.environment, state, saved.dueOf(user))
      }
      const added = changed ? undefined : to(undefined)
      if (added !== undefined) users.add(sandbox, added, 0)
      const gone = (["buckets", "userIds"] as const).flatMap((table) =>
        entriesOf.get(table)!.map(([key]): Entry => ({ table, key, value: null })),
      )
      const names = compositeKey(namesPrefix)
      for (const [key] of entriesOf.get("meta")!) {
        if (Buffer.from(key).indexOf(names) === 0) gone.push({ table: "meta", key, value: null })
      }
      yield* store.writeEntries(gone)
      yield* store.writeEntries(users.entries())
    }),
  )

const entriesOf = new Map<Table, ReadonlyArray<StoredEntry>>()

describe("The check of users against their records", () => {
  it.live("finds nothing wrong with erased users, in any number of passes", () =>
    Effect.gen(function* () {
      const directory = yield* closed
      const once = yield* findingsOf(directory)
      expect(once).toMatchObject({ faults: [], counts: { users: users - 1 } })
      yield* limited({ verificationUsersMax: 2 })
      expect(yield* findingsOf(directory)).toEqual(once)
    }).pipe(Effect.scoped),
  )

  const changes: ReadonlyArray<readonly [string, string, Parameters<typeof change>[2], RegExp]> = [
    ["another state", "u1", (state) => ({ ...state!, xp: state!.xp + 1 }), /xp is \d+, not \d+$/],
    [
      "an older state",
      "u2",
      (state) => ({ ...state!, sequence: state!.sequence - 1 }),
      /its stored record is \d+, not \d+/,
    ],
    ["no state", "u3", () => undefined, /there is no state/],
  ]
  for (const [what, userId, to, words] of changes) {
    it.live(`finds ${what}`, () =>
      Effect.gen(function* () {
        const directory = yield* closed
        yield* change(directory, userId, to)
        const { faults } = yield* findingsOf(directory)
        const own = faults.filter((fault) => fault.startsWith(`User "${userId}" of ${sandbox}`))
        expect(own.join("\n")).toMatch(words)
      }),
    )
  }

  it.live("finds a user who has no records", () =>
    Effect.gen(function* () {
      const directory = yield* closed
      let other: UserState | undefined
      yield* change(directory, "u1", (state) => {
        other = state
        return state
      })
      yield* change(directory, "u9", () => ({ ...other!, id: "u9" }))
      const { faults } = yield* findingsOf(directory)
      expect(faults).toContain(`User "u9" of ${sandbox} has no records`)
    }),
  )
})
