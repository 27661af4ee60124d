/** The close of a league after a restore into its middle. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import { verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import { makeWorkerHost, type WorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { leagueWith } from "../../domain/definitions.ts"
import { limitedInFile } from "../../limited.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { reward, sandbox } from "../fixture.ts"
import { restored } from "./copies.ts"
import { alone, found, running } from "./fixture.ts"

// A close of a few users takes several writes.
limitedInFile({ leagueSettledMax: 3 })

const users = Array.from({ length: 24 }, (_, index) => `u${index}`)
const league = leagueWith({
  cohortSize: 4,
  rewards: [
    {
      division: null,
      ranks: [1, 2],
      outcome: null,
      reward: { xp: 0, points: 10, badgeId: null },
    },
  ],
})

const isSettling = ({ facts }: JournalRecord): boolean =>
  facts.some(({ kind }) => /^league\.(promoted|stayed|demoted)$/.test(kind))

/** Ends when the test clock has arrived: then the close is settled for all. */
const ready = Effect.fnUntraced(function* (engine: Engine["Service"]) {
  while ((yield* engine.readProject(sandbox)).testClock?.status !== "ready") {
    yield* yieldToEventLoop
  }
})

/** What the close has left of each user. */
const outcomes = (engine: Engine["Service"]) =>
  Effect.forEach(users, (userId) =>
    Effect.map(engine.readUser(sandbox, userId), (user) => {
      const { division, entry, results } = user!.leagues.get(league.id)!
      return [userId, user!.points, division, entry, results] as const
    }),
  )

/** An archive from within the close, and the sequences of the records that settle. */
const written = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const { archives, close, committed, engine } = yield* running({ directory, host })
  yield* found(engine)
  const { createdAt: _, set: __, updatedAt: ___, version: ____, ...given } = league
  yield* engine.askProject(sandbox, { kind: "createLeague", league: given })
  for (const [index, userId] of users.entries()) {
    yield* engine.askUser(sandbox, reward(userId, 1 + ((index * 7) % 11)))
  }
  yield* archives.create({ reason: "request" })
  const to = engine.now() + 2 * 86_400_000
  yield* engine.askProject(sandbox, { kind: "advanceClock", to })
  while (!committed.some(isSettling)) yield* yieldToEventLoop
  yield* archives.create({ reason: "request" })
  yield* ready(engine)
  const settled = committed.filter(isSettling).map(({ sequence }) => sequence)
  const expected = yield* outcomes(engine)
  yield* close("kill")
  return { directory, host, settled, expected }
})

/** What the close leaves once it has gone on in this directory. */
const goneOn = Effect.fnUntraced(function* (directory: string, host: WorkerHost) {
  const { close, committed, engine } = yield* running({ directory, host })
  yield* ready(engine)
  const found = yield* outcomes(engine)
  const settled = committed.filter(isSettling).length
  yield* close()
  expect(yield* Effect.scoped(verifyLive({ directory }, alone))).toMatchObject({ faults: [] })
  return { found, settled }
})

describe("The close of a league, restored into its middle", () => {
  it.live("goes on where it was, and settles and pays each user once", () =>
    Effect.gen(function* () {
      const { directory, expected, host, settled } = yield* written
      expect(settled).toHaveLength(users.length)
      expect(expected.reduce((sum, [, points]) => sum + points, 0)).toBe(10 * 12)
      for (const nth of [0, 1, 7, 22]) {
        const sequence = settled[nth]!
        const copy = yield* restored(directory, { kind: "sequence", sequence })
        const after = yield* goneOn(copy, host)
        expect([nth, after.settled]).toEqual([nth, users.length - nth - 1])
        expect(after.found).toEqual(expected)
      }
      // The newest archive is from within the close; the journal after it is lost.
      const last = yield* restored(directory, { kind: "last" })
      expect((yield* goneOn(last, host)).found).toEqual(expected)
    }),
  )
})
