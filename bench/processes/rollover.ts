/** Closes windows with many members on the board and stores them, watching how long the event loop is held. */
import { Effect } from "effect"
import { pageOf } from "../../src/engine/boards/BoardSource.ts"
import { BoardWriter } from "../../src/engine/boards/BoardWriter.ts"
import { openStoredBoard } from "../../src/engine/boards/StoredBoard.ts"
import { domain, Environment } from "../../src/engine/Environments.ts"
import * as DurableStorage from "../../src/storage/DurableStorage.ts"
import { answer } from "../children.ts"
import { environment as id } from "../millionUsers.ts"

export interface RolloverReport {
  /** Of each round, milliseconds. */
  readonly longestTurnMs: ReadonlyArray<number>
  readonly storedAfterMs: ReadonlyArray<number>
  readonly copyMs: ReadonlyArray<number>
  readonly storedPageMs: ReadonlyArray<number>
}

const rounds = 3

/** Calls back in every turn of the event loop; answers how long the longest took. */
const watchTurns = (): (() => number) => {
  let longest = 0
  let last = performance.now()
  let watching = true
  const turn = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (watching) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    watching = false
    return longest
  }
}

await answer(({ directory, members }: { readonly directory: string; readonly members: number }) => {
  const environment = new Environment(id, {
    domain,
    now: () => 0,
    sooner: () => {},
    settingsChanged: () => {},
  })
  const { daily } = environment.boards.windows
  const report = {
    longestTurnMs: [] as Array<number>,
    storedAfterMs: [] as Array<number>,
    copyMs: [] as Array<number>,
    storedPageMs: [] as Array<number>,
  }
  const round = Effect.fnUntraced(function* (index: number) {
    const storage = yield* DurableStorage.make({ directory: `${directory}/${index}` })
    const writer = new BoardWriter({ storage, environments: [environment], now: () => 0 })
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
    const longestTurn = watchTurns()
    const startedAt = performance.now()
    environment.boards.close({
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
          total: members,
        },
      ],
    })
    yield* writer.write(storage.writeEntries)
    report.storedAfterMs.push(performance.now() - startedAt)
    report.longestTurnMs.push(longestTurn())
    const place = { environment: id, kind: "daily", index } as const
    const pageAt = performance.now()
    for (let page = 0; page < 100; page++) {
      const source = yield* openStoredBoard(storage, place, daily.stored.get(index)!)
      const rows = yield* pageOf(source, (page * members) / 100, 100)
      if (rows.length !== 100) throw new Error("a page of the stored board lacks rows")
    }
    report.storedPageMs.push((performance.now() - pageAt) / 100)
  })
  return Effect.runPromise(
    Effect.as(
      Effect.forEach(
        Array.from({ length: rounds }, (_, index) => index + 1),
        (index) => Effect.scoped(round(index)),
      ),
      report,
    ),
  )
})
