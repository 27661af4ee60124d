/**
 * Actors that wait while their engine closes. As in a server, the drain belongs to the engine's
 * scope.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { decideUser } from "../../../src/domain/decide/Decide.ts"
import { domain } from "../../../src/engine/actor/Environments.ts"
import { makeEngine } from "../../../src/engine/EngineLive.ts"
import { limits } from "../../../src/Limits.ts"
import { Storage } from "../../../src/storage/Storage.ts"
import * as FaultyStorage from "../../storage/FaultyStorage.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, reward, sandbox, start } from "../fixture.ts"

/** An engine in a scope that drains it before it closes. */
const startDrained = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  decide: typeof decideUser = decideUser,
) {
  const scope = yield* Scope.make()
  const engine = yield* makeEngine({
    onBroken: (cause) => expect.unreachable(String(cause)),
    domain: { ...domain, decideUser: decide },
  }).pipe(Effect.provideService(Storage, storage), Scope.provide(scope))
  yield* Scope.addFinalizer(scope, engine.drain)
  return { engine, close: Scope.close(scope, Exit.void) }
})

const forked = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.forkChild(effect, { startImmediately: true })

/** A domain in which a decision about the action DEAR fills a turn of the event loop. */
const decideDear: typeof decideUser = (user, project, command, now, found, meter) => {
  if (command.kind === "event" && command.action === "DEAR") {
    meter!.work += limits.decisionTurnWorkMax
  }
  return decideUser(user, project, command, now, found, meter)
}

describe("Commands of actors that wait, when the engine's scope closes", () => {
  it.effect("are answered: commands that wait for a later turn", () =>
    Effect.gen(function* () {
      const { close, engine } = yield* startDrained(MemoryStorage.make(), decideDear)
      const users = ["u1", "u2", "u1", "u2", "u1"]
      const batch = yield* forked(
        engine.askUsers(
          sandbox,
          users.map((user) => event(user, "DEAR")),
        ),
      )
      const closed = yield* forked(close)
      const outcomes = yield* Fiber.join(batch)
      expect(outcomes.map((outcome) => "_tag" in outcome)).toEqual(users.map(() => false))
      yield* Fiber.join(closed)
    }),
  )
})

describe("Commands of actors that wait, when the engine closes without a drain", () => {
  it.effect("are refused: a command whose id or record is looked up", () =>
    Effect.gen(function* () {
      const faults = new FaultyStorage.Faults()
      const memory = new MemoryStorage.MemoryState()
      const before = yield* start(MemoryStorage.make({ state: memory }))
      yield* before.engine.askUser(sandbox, event("u1", "A", { id: "one" }))
      yield* before.close()
      for (const message of [
        event("u1", "A", { id: "one" }),
        {
          userId: "u1",
          command: { kind: "revocation", of: "event", sequence: 1, at: 0, ownId: "one" } as const,
        },
      ]) {
        const storage = FaultyStorage.make(MemoryStorage.make({ state: memory }), faults)
        const { close, engine } = yield* start(storage)
        // The actor is in memory: the command waits for the look-up.
        yield* engine.askUser(sandbox, reward("u1", 1))
        const held = [faults.hold("readEntry"), faults.hold("readRecord")]
        const asked = yield* forked(
          Effect.flip(engine.askUser<typeof message.command>(sandbox, message)),
        )
        yield* Effect.raceAll(held.map(({ reached }) => reached))
        yield* close("kill")
        expect((yield* Fiber.join(asked)).code).toBe("shutting_down")
        faults.clear()
      }
    }),
  )

  it.effect("are refused: commands that wait for a later turn, with or without a fiber", () =>
    Effect.gen(function* () {
      const { close, engine } = yield* start(MemoryStorage.make(), {
        domain: { ...domain, decideUser: decideDear },
      })
      const refused: Array<string> = []
      for (const user of ["decided", "u1", "u2", "u2"]) {
        engine.askUserWithCallback(sandbox, event(user, "DEAR"), undefined, (outcome) => {
          refused.push("_tag" in outcome ? `${user} ${outcome.code}` : user)
        })
      }
      yield* close("kill")
      // The decided command is not durable, so its outcome is unknown.
      expect(refused.sort()).toEqual(["u1", "u2", "u2"].map((user) => `${user} shutting_down`))
    }),
  )
})
