/** Where the contract opens its storages. */
import { Effect, type Scope } from "effect"
import type { Broken, Storage } from "../../src/storage/Storage.ts"

type Store = Storage["Service"]

/** A place that storages are opened over, one after another. */
export interface Place {
  readonly open: Effect.Effect<Store, Broken, Scope.Scope>
}

/** A test with one storage, opened over a fresh place. */
export const over =
  (makePlace: Effect.Effect<Place, never, Scope.Scope>) =>
  (use: (store: Store) => Effect.Effect<void, unknown, Scope.Scope>) =>
  () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      yield* use(yield* place.open)
    })
