import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Subject } from "../../../src/domain/record/Record.ts"
import { partsByKey, SnapshotTurns } from "../../../src/engine/snapshot/Snapshotter.ts"
import { Random, seeds } from "../../simulation/random.ts"

const user = (environment: string, userId: string): { readonly subject: Subject } => ({
  subject: { actor: "user", environment, userId },
})

const nameOf = ({ subject }: { readonly subject: Subject }): string =>
  subject.actor === "user" ? `${subject.environment}\n${subject.userId}` : subject.actor

describe("The entries of a snapshot", () => {
  for (const seed of seeds(3)) {
    it.effect("are divided into parts in the order of keys, and none is lost", () =>
      Effect.gen(function* () {
        const random = new Random(seed)
        const users = Array.from({ length: 20_000 }, (_, n) =>
          user(random.pick(["prj_1:production", "prj_1:sandbox"]), `u${random.integer(0, 9)}-${n}`),
        )
        const shared = [{ subject: { actor: "directory" } as const }]
        const items = [...users, ...shared]
        const parts = yield* partsByKey(items, 1_000, new SnapshotTurns())
        expect(new Set(parts.flat()), `seed ${seed}`).toEqual(new Set(items))
        expect(parts.flat().length).toBe(items.length)
        const ofUsers = parts
          .map((part) => part.filter(({ subject }) => subject.actor === "user").map(nameOf))
          .filter((names) => names.length > 0)
        for (const [n, names] of ofUsers.entries()) {
          expect(names.length, `seed ${seed}`).toBeLessThan(3_000)
          const next = ofUsers[n + 1]
          if (next === undefined) continue
          const greatest = names.reduce((one, other) => (one > other ? one : other))
          const least = next.reduce((one, other) => (one < other ? one : other))
          expect(greatest < least, `seed ${seed}`).toBe(true)
        }
      }),
    )
  }

  it.effect("are one part if they fit into it, also if there are none", () =>
    Effect.gen(function* () {
      const items = [user("e", "b"), user("e", "a")]
      expect(yield* partsByKey(items, 1_000, new SnapshotTurns())).toEqual([items])
      expect((yield* partsByKey([], 1_000, new SnapshotTurns())).flat()).toEqual([])
    }),
  )
})
