/**
 * Closes, stores and deletes windows with many members, and measures how long the event loop is
 * blocked.
 */
import { Effect } from "effect"
import { domain, Environment } from "../../src/engine/actor/Environments.ts"
import { pageOf } from "../../src/engine/boards/BoardSource.ts"
import { BoardWriter } from "../../src/engine/boards/BoardWriter.ts"
import { openStoredBoard } from "../../src/engine/boards/StoredBoard.ts"
import * as DurableStorage from "../../src/storage/durable/DurableStorage.ts"
import { answer } from "../children.ts"
import { environment as id } from "../millionUsers.ts"

export interface RolloverReport {
  /** Of each round, milliseconds. */
  readonly storing: ReadonlyArray<Turns>
  readonly deleting: ReadonlyArray<Turns>
  readonly copyMs: ReadonlyArray<number>
  readonly storedPageMs: ReadonlyArray<number>
}

/** The turns of the event loop during a piece of work. */
export interface Turns {
  /** The most processor time of a turn, in milliseconds. */
  readonly longestProcessorMs: number
  /** The longest turn in milliseconds, including the time of other processes. */
  readonly longestMs: number
  /** Milliseconds from begin to end. */
  readonly allMs: number
}

const rounds = 3
const dayMs = 86_400_000

/** Milliseconds of processor time that this thread has used. */
const threadMs = (): number => {
  // Linux brings the thread's counter up to now only when the whole process is asked for.
  process.cpuUsage()
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1_000
}

/** Calls back in every turn of the event loop; returns the turns since the last call. */
const watchTurns = (): (() => Turns) => {
  let longestProcessorMs = 0
  let longestMs = 0
  const startedAt = performance.now()
  let lastProcessor = threadMs()
  let last = startedAt
  let watching = true
  const turn = () => {
    const processor = threadMs()
    const now = performance.now()
    longestProcessorMs = Math.max(longestProcessorMs, processor - lastProcessor)
    longestMs = Math.max(longestMs, now - last)
    lastProcessor = processor
    last = now
    if (watching) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    watching = false
    return { longestProcessorMs, longestMs, allMs: performance.now() - startedAt }
  }
}

await answer(({ directory, members }: { readonly directory: string; readonly members: number }) => {
  const environment = new Environment(id, {
    domain,
    now: () => 0,
    sooner: () => {},
    stateBytes: { bytes: 0 },
  })
  const { daily } = environment.boards.windows
  const report = {
    storing: [] as Array<Turns>,
    deleting: [] as Array<Turns>,
    copyMs: [] as Array<number>,
    storedPageMs: [] as Array<number>,
  }
  const close = (index: number, total: number) => {
    environment.boards.followProject({
      sequence: 1,
      at: 0,
      subject: { actor: "project", environment: id },
      cause: { kind: "request" },
      facts: [
        {
          kind: "leaderboard.window_closed",
          window: "daily",
          index,
          startsAt: 0,
          endsAt: 1,
          total,
        },
      ],
    })
  }
  const round = Effect.fnUntraced(function* (index: number) {
    const storage = yield* DurableStorage.make({ directory: `${directory}/${index}` })
    const writer = new BoardWriter({ storage, environments: [environment], now: () => now })
    let now = 0
    const board = daily.openBoard(index)!
    for (let member = 0; member < members; member++) {
      const userId = `user-${member.toString().padStart(15, "0")}`
      board.set(environment.boards.members.admit(userId), 1 + ((member * 7_919) % 99_991), member)
    }
    const copyAt = performance.now()
    const copied: Array<object> = []
    board.visit(0, members, (member, score, rank) => {
      copied.push({ rank, score, userId: environment.boards.members.idOf(member) })
    })
    report.copyMs.push(performance.now() - copyAt)
    if (copied.length !== members) throw new Error("the board lacks members")
    copied.length = 0
    globalThis.gc?.()
    yield* Effect.sleep(100)
    const stored = watchTurns()
    close(index, members)
    yield* writer.write(storage.writeEntries)
    report.storing.push(stored())
    const place = { environment: id, board: "ldb_xp", kind: "daily", index } as const
    const pageAt = performance.now()
    for (let page = 0; page < 100; page++) {
      const source = yield* openStoredBoard(storage, place, daily.stored.get(index)!)
      const rows = yield* pageOf(source, (page * members) / 100, 100)
      if (rows.length !== 100) throw new Error("a page of the stored board lacks rows")
    }
    report.storedPageMs.push((performance.now() - pageAt) / 100)
    // The newest board stays, however old it is.
    daily.openBoard(index + 1)!.set(environment.boards.members.admit("user-0"), 1, 1)
    close(index + 1, 1)
    now = 1_000 * dayMs
    yield* Effect.sleep(100)
    const deleted = watchTurns()
    yield* writer.write(storage.writeEntries)
    report.deleting.push(deleted())
    if (daily.stored.has(index)) throw new Error("the board is still there")
    daily.stored.clear()
  })
  return Effect.runPromise(
    Effect.as(
      Effect.forEach(
        Array.from({ length: rounds }, (_, index) => 2 * index + 1),
        (index) => Effect.scoped(round(index)),
      ),
      report,
    ),
  )
})
