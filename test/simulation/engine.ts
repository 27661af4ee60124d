/**
 * One seeded run of the engine against the model: random commands, alone and many at once, with ids used
 * again, definitions made on the way, users that go cold, snapshots, and crashes after which everything
 * that was not answered is sent again.
 */
import { expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { LaurelError } from "../../src/domain/Errors.ts"
import { applyUser, type UserReply, type UserState } from "../../src/domain/User.ts"
import type { Engine, UserMessage } from "../../src/engine/Engine.ts"
import { nextTurn } from "../../src/engine/nextTurn.ts"
import * as MemoryStorage from "../../src/storage/MemoryStorage.ts"
import type { Storage } from "../../src/storage/Storage.ts"
import {
  event,
  type Fixture,
  quest,
  recordsOf,
  reward,
  rule,
  sandbox,
  start,
} from "../engine/fixture.ts"
import { Model, type ModelOutcome } from "./Model.ts"
import { Random } from "./random.ts"

const actions = ["TAP", "SWIPE", "LESSON_DONE"]

export const simulate = Effect.fnUntraced(function* (seed: number, steps: number) {
  const random = new Random(seed)
  const model = new Model()
  const state = new MemoryStorage.MemoryState()
  const options = {
    residentUsersMax: 8,
    snapshotIntervalMs: 5_000,
    snapshotSliceEntriesMax: 4,
    idlePassivateMs: 20_000,
  }
  const users = Array.from(
    { length: 24 },
    (_, index) => `${["constructor", "u"][index % 2]}${index}`,
  )
  const questIds: Array<string> = []
  let ids = 0
  const disk = { appendsLeft: Infinity, lastAppendKept: false, writesLeft: Infinity }
  const open = Effect.suspend(() => {
    Object.assign(disk, { appendsLeft: Infinity, writesLeft: Infinity })
    return start(dyingDisk(MemoryStorage.make({ state }), disk), options)
  })
  let running = yield* open

  const someId = () =>
    random.chance(0.5)
      ? `id${ids++}`
      : random.chance(0.5)
        ? `id${random.integer(0, ids)}`
        : undefined

  const command = (withId: boolean): { message: UserMessage; ask: () => ModelOutcome } => {
    const userId = random.pick(users)
    const id = withId ? `id${ids++}` : someId()
    if (random.chance(0.3)) {
      const amount = random.chance(0.02) ? 1_000_000_000 : random.integer(1, 3) * 10
      return {
        message: reward(userId, amount, id),
        ask: () => model.reward(userId, amount, id),
      }
    }
    if (random.chance(0.2)) {
      const questId = questIds.length > 0 && random.chance(0.9) ? random.pick(questIds) : "qst_none"
      const metadata = { questId }
      return {
        message: event(userId, "QUEST_COMPLETE", { metadata, ...(id !== undefined && { id }) }),
        ask: () => model.event(userId, "QUEST_COMPLETE", id, questId),
      }
    }
    const action = random.pick(actions)
    return {
      message: event(userId, action, id === undefined ? {} : { id }),
      ask: () => model.event(userId, action, id),
    }
  }

  const agree = (outcome: UserReply | LaurelError, expected: ModelOutcome) => {
    if ("_tag" in outcome) expect({ refused: outcome.code }).toEqual(expected)
    else expect({ ...outcome.xp, duplicate: outcome.duplicate }).toEqual(expected)
  }

  /** Commands that are on their way when the engine is killed: whatever became of them, a repeat settles it. */
  const crash = Effect.gen(function* () {
    // The power may fail in the middle of a snapshot, or before or after the journal has a batch.
    if (random.chance(0.5)) {
      disk.writesLeft = random.integer(0, 6)
      yield* TestClock.adjust(options.snapshotIntervalMs)
    }
    if (random.chance(0.5)) {
      disk.appendsLeft = 0
      disk.lastAppendKept = random.chance(0.5)
    }
    const sent = Array.from({ length: random.integer(0, 30) }, () => command(true))
    const asked = yield* Effect.forkChild(
      running.engine.askUsers(
        sandbox,
        sent.map(({ message }) => message),
      ),
      { startImmediately: true },
    )
    if (random.chance(0.5)) yield* nextTurn
    yield* running.close("kill")
    yield* Fiber.interrupt(asked)
    running = yield* open
    for (const { message, ask } of sent) {
      const outcome = yield* askOne(running.engine, message)
      // It may have been applied before the crash; applied twice, its total would differ.
      const expected = ask()
      if ("_tag" in outcome || "refused" in expected) agree(outcome, expected)
      else agree({ ...outcome, duplicate: expected.duplicate }, expected)
    }
  })

  for (let step = 0; step < steps; step++) {
    const kind = random.next()
    if (kind < 0.03) {
      const made = rule(random.pick(actions), random.integer(0, 5))
      yield* running.engine.askProject(sandbox, made)
      if (made.kind === "createRule") {
        model.rules.push({ action: made.rule.action, xp: made.rule.reward.xp })
      }
    } else if (kind < 0.06) {
      const active = random.chance(0.8)
      const made = quest("A quest", random.integer(0, 50), active ? "active" : "draft")
      yield* running.engine.askProject(sandbox, made)
      questIds.push(made.quest.id)
      model.quests.set(made.quest.id, { xp: made.quest.reward.xp, active })
    } else if (kind < 0.1) {
      // Commands arrive while a snapshot is being written.
      const sent = Array.from({ length: random.integer(1, 20) }, () => command(false))
      const [outcomes] = yield* Effect.all(
        [
          Effect.forEach(sent, ({ message }) =>
            Effect.andThen(nextTurn, askOne(running.engine, message)),
          ),
          TestClock.adjust(random.integer(1, 30_000)),
        ],
        { concurrency: "unbounded" },
      )
      sent.forEach(({ ask }, index) => {
        agree(outcomes[index]!, ask())
      })
    } else if (kind < 0.13) {
      yield* crash
    } else if (kind < 0.15) {
      yield* running.close()
      running = yield* open
    } else if (kind < 0.3) {
      const sent = Array.from({ length: random.integer(1, 40) }, () => command(false))
      const outcomes = yield* running.engine.askUsers(
        sandbox,
        sent.map(({ message }) => message),
      )
      sent.forEach(({ ask }, index) => {
        agree(outcomes[index]!, ask())
      })
    } else {
      const { ask, message } = command(false)
      agree(yield* askOne(running.engine, message), ask())
    }
    if (step % 10 === 0) yield* compare(running, model, users)
  }
  yield* compare(running, model, users)
  yield* compareToFold(running, state)
  yield* running.close()
})

/** A disk that answers nothing any more once its calls are used up, as before a power cut. */
const dyingDisk = (
  storage: Storage["Service"],
  disk: { appendsLeft: number; lastAppendKept: boolean; writesLeft: number },
): Storage["Service"] => ({
  ...storage,
  append: (batch) =>
    Effect.suspend(() => {
      if (disk.appendsLeft-- > 0) return storage.append(batch)
      return disk.lastAppendKept
        ? Effect.andThen(storage.append(batch), Effect.never)
        : Effect.never
    }),
  writeEntries: (entries) =>
    Effect.suspend(() => (disk.writesLeft-- > 0 ? storage.writeEntries(entries) : Effect.never)),
})

const askOne = (engine: Engine["Service"], message: UserMessage) =>
  Effect.match(engine.askUser(sandbox, message), {
    onSuccess: ({ reply }): UserReply | LaurelError => reply,
    onFailure: (error) => error,
  })

/** Live state, whatever it went through, is the fold of the whole journal. */
const compareToFold = Effect.fnUntraced(function* (
  { engine }: Fixture,
  state: MemoryStorage.MemoryState,
) {
  const users = new Map<string, UserState | undefined>()
  for (const record of recordsOf(state)) {
    if (record.subject.actor !== "user") continue
    const { userId } = record.subject
    users.set(userId, applyUser(users.get(userId), record))
  }
  for (const [userId, user] of users) expect(yield* engine.readUser(sandbox, userId)).toEqual(user)
})

const compare = Effect.fnUntraced(function* (
  { broken, engine }: Fixture,
  model: Model,
  users: ReadonlyArray<string>,
) {
  expect(broken).toEqual([])
  for (const userId of users) {
    const user = yield* engine.readUser(sandbox, userId)
    const expected = model.users.get(userId)
    expect(user?.xp).toBe(expected?.xp)
    expect([...(user?.questsCompleted.keys() ?? [])].sort()).toEqual(
      [...(expected?.quests ?? [])].sort(),
    )
  }
  const board = model.board()
  const page = yield* engine.readBoard(sandbox, { limit: 100, offset: 0 })
  expect(page.entries).toEqual(board)
  for (const { rank, userId } of board) expect(yield* engine.readRank(sandbox, userId)).toBe(rank)
})
