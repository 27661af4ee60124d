/** An engine over a real data directory, with archives, and what tests of both repeat. */
import path from "node:path"
import { expect } from "@effect/vitest"
import { Effect, Exit, Scope, Stream } from "effect"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import type { ArchiveMetrics } from "../../../src/engine/archive/ArchiveMetrics.ts"
import { type Archives, makeArchives } from "../../../src/engine/archive/Archives.ts"
import type { JobContext, Step } from "../../../src/engine/archive/jobs/Jobs.ts"
import type { WorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { emptyRecord } from "../../../src/engine/archive/restore/ProjectHistory.ts"
import type { Engine, UserMessage } from "../../../src/engine/Engine.ts"
import { type EngineOptions, makeEngine } from "../../../src/engine/EngineLive.ts"
import { decodeRecord } from "../../../src/engine/records/Codec.ts"
import { isOf } from "../../../src/engine/records/RecordReader.ts"
import { limits } from "../../../src/Limits.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import * as DurableStorage from "../../../src/storage/durable/DurableStorage.ts"
import { batchOf } from "../../../src/storage/Frames.ts"
import { openJournal } from "../../../src/storage/journal/Journal.ts"
import { Storage } from "../../../src/storage/Storage.ts"
import { event, reward, rule, sandbox } from "../fixture.ts"

export interface Running {
  readonly engine: Engine["Service"]
  readonly archives: Archives["Service"]
  readonly committed: ReadonlyArray<JournalRecord>
  /** The oldest record that the journal still has. */
  readonly firstSequence: Effect.Effect<number>
  /** The folder of archives. */
  readonly folder: string
  /** Ends it in order, or as a kill would: without the last snapshot. */
  readonly close: (how?: "kill") => Effect.Effect<void>
}

export interface RunningOptions {
  readonly directory: string
  readonly host: WorkerHost
  readonly onStep?: (step: Step) => Effect.Effect<void>
  readonly metrics?: ArchiveMetrics
  readonly segmentBytes?: number
  readonly engine?: Partial<EngineOptions>
}

/** Starts an engine with archives on `directory`. */
export const running = Effect.fnUntraced(function* (options: RunningOptions) {
  const { directory, host, onStep, segmentBytes } = options
  const scope = yield* Scope.make()
  const committed: Array<JournalRecord> = []
  const opened = yield* Scope.provide(
    DurableStorage.open({ directory, ...(segmentBytes !== undefined && { segmentBytes }) }),
    scope,
  )
  const engine = yield* makeEngine({
    onBroken: (broken) => {
      throw broken
    },
    onCommitted: (record) => committed.push(record),
    ...options.engine,
  }).pipe(Effect.provideService(Storage, opened.storage), Scope.provide(scope))
  const folder = path.join(directory, "archive")
  const archives = makeArchives({
    ...opened,
    now: engine.now,
    directory,
    archives: folder,
    retention: { hourly: 24, daily: 7 },
    host,
    ...(onStep !== undefined && { onStep }),
    ...(options.metrics !== undefined && { metrics: options.metrics }),
  })
  const found: Running = {
    engine,
    archives,
    committed,
    firstSequence: opened.storage.firstSequence,
    folder,
    close: (how) =>
      Effect.andThen(how === "kill" ? Effect.void : engine.drain, Scope.close(scope, Exit.void)),
  }
  return found
})

/** A project that owns the fixture's environments, and a rule: what a real server has before its first event. */
export const found = Effect.fnUntraced(function* (engine: Engine["Service"]) {
  yield* engine.askDirectory({ kind: "createDirectory", hashSecret: "00" })
  yield* engine.askDirectory({
    kind: "createKey",
    by: "operator",
    projectId: "prj_1",
    projectName: "shop",
    key: {
      id: "key_1",
      environment: "sandbox",
      scope: "full",
      hash: "00",
      hint: "lk_test_",
    },
  })
  yield* engine.askProject(sandbox, rule("TAP", 5))
})

/** A few events and rewards of each of `count` users, some with ids. */
export const busy = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  count: number,
  round = 0,
) {
  yield* engine.askUsers(
    sandbox,
    Array.from({ length: count * 3 }, (_, index): UserMessage => {
      const userId = `u${index % count}`
      const id = `${round}-${index}`
      if (index % 3 === 0) return reward(userId, 1 + (index % 7), id)
      return index % 3 === 1 ? event(userId, "TAP", { id }) : event(userId, "TAP")
    }),
  )
})

/** All that readers see of the sandbox. */
export const seen = Effect.fnUntraced(function* (engine: Engine["Service"], users: number) {
  const states = []
  for (let n = 0; n < users; n++) states.push(yield* engine.readUser(sandbox, `u${n}`))
  return { states, board: yield* engine.readBoard(sandbox, { limit: 100, offset: 0 }) }
})

/** Erases the records of sandbox's users from the journal, whose snapshot may still have them. */
export const eraseFrom = (directory: string, ...userIds: ReadonlyArray<string>) =>
  eraseRecords(directory, (record) => userIds.some((userId) => isOf(record, sandbox, userId)))

/** Erases some records of users from the journal. */
export const eraseRecords = (directory: string, isErased: (record: JournalRecord) => boolean) =>
  Effect.scoped(
    Effect.gen(function* () {
      const folder = path.join(directory, "journal")
      const bounds = { segmentBytes: limits.segmentBytes, freeSpaceBytesMin: 0 }
      const journal = yield* openJournal({ disk: nodeDisk, folder, ...bounds })
      const records = (yield* Stream.runCollect(journal.readRecords(1))).flat()
      const theirs = records.filter(({ body }) => isErased(decodeRecord(body)))
      const { at, sequence } = decodeRecord(records.at(-1)!.body)
      // Another segment begins, so that the first one is sealed.
      yield* journal.prune(0, sequence)
      const last = JSON.stringify(emptyRecord({ at, sequence: sequence + 1 }))
      yield* journal.append(batchOf(sequence + 1, [Buffer.from(last)]))
      yield* Effect.repeat(journal.sealer.sealNext, { while: (isMore) => isMore })
      const erased = yield* journal.sealer.erase(theirs.map((record) => record.sequence))
      expect(erased?.lastSequence).toBe(sequence)
    }),
  )

/** A context for jobs that run in the process of the test. */
export const alone: JobContext = { ask: () => Effect.undefined, progress: () => {} }
