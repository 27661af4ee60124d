/**
 * Asks without HTTP and without a disk: decide, apply, encode for the journal, group commit,
 * snapshots, answer. The storage is the one in memory, except that it forgets what is written:
 * keeping it all on the heap would cost more than the engine does. The reference does the least
 * that any implementation does: it adds to a user in a Map, at once.
 */
import { Effect, Exit, Scope } from "effect"
import type { Engine, UserMessage } from "../../src/engine/Engine.ts"
import { makeEngine } from "../../src/engine/EngineLive.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { answer } from "../children.ts"
import { lessonRule, lessonXp, randomEvent } from "../events.ts"
import { forgetful } from "../forgetful.ts"
import { median } from "../statistics.ts"

export interface AsksReport {
  readonly onePerSecond: number
  readonly manyPerSecond: number
  readonly referencePerSecond: number
  readonly callers: number
  readonly together: number
}

export interface AsksOptions {
  readonly asksPerRound: number
  readonly rounds: number
}

const environment = "prj_bench:sandbox"
const callers = 64
const together = 1_000

const newMessages = (asksPerRound: number): ReadonlyArray<UserMessage> =>
  Array.from({ length: asksPerRound }, () => {
    const { userId, ...event } = randomEvent()
    return { userId, command: { kind: "event", ...event } }
  })

type Run = (engine: Engine["Service"], messages: ReadonlyArray<UserMessage>) => Effect.Effect<void>

/** Each caller waits for its answer before the next command. */
const oneByOne: Run = (engine, messages) => {
  let next = 0
  const caller = Effect.gen(function* () {
    while (next < messages.length) {
      yield* engine.askUser(environment, messages[next++]!)
    }
  })
  return Effect.forEach(Array.from({ length: callers }), () => caller, {
    concurrency: "unbounded",
    discard: true,
  }).pipe(Effect.orDie)
}

const manyAtOnce: Run = Effect.fnUntraced(function* (engine, messages) {
  for (let next = 0; next < messages.length; next += together) {
    yield* engine.askUsers(environment, messages.slice(next, next + together))
  }
}, Effect.orDie)

const perSecond = (asksPerRound: number, startedAt: number): number =>
  (asksPerRound * 1_000) / (performance.now() - startedAt)

/** A new engine for each round, without the memory of earlier rounds. */
const ours = (run: Run, asksPerRound: number): Promise<number> =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const engine = yield* makeEngine({
      onBroken: (cause) => {
        throw cause
      },
    }).pipe(Effect.provideService(Storage, forgetful()), Scope.provide(scope))
    yield* engine.askProject(environment, lessonRule)
    const messages = newMessages(asksPerRound)
    globalThis.gc!()
    const startedAt = performance.now()
    yield* run(engine, messages)
    const measured = perSecond(asksPerRound, startedAt)
    yield* Scope.close(scope, Exit.void)
    return measured
  }).pipe(Effect.runPromise)

const reference = (asksPerRound: number): number => {
  const messages = newMessages(asksPerRound)
  const users = new Map<string, { xp: number; events: number }>()
  const track = ({ userId }: UserMessage) => {
    const user = users.get(userId)
    if (user === undefined) users.set(userId, { xp: lessonXp, events: 1 })
    else {
      user.xp += lessonXp
      user.events++
    }
    return user
  }
  globalThis.gc!()
  const startedAt = performance.now()
  for (const message of messages) track(message)
  return perSecond(asksPerRound, startedAt)
}

await answer(async ({ asksPerRound, rounds }: AsksOptions): Promise<AsksReport> => {
  const measured: Array<readonly [number, number, number]> = []
  // The first round only warms up.
  for (let round = 0; round <= rounds; round++) {
    const results = [
      await ours(oneByOne, asksPerRound),
      await ours(manyAtOnce, asksPerRound),
      reference(asksPerRound),
    ] as const
    if (round > 0) measured.push(results)
  }
  const middle = (index: 0 | 1 | 2) => median(measured.map((results) => results[index]))
  return {
    onePerSecond: middle(0),
    manyPerSecond: middle(1),
    referencePerSecond: middle(2),
    callers,
    together,
  }
})
