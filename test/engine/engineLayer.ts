import { Effect, Layer } from "effect"
import { Engine } from "../../src/engine/Engine.ts"
import { type EngineOptions, makeEngine } from "../../src/engine/EngineLive.ts"
import type { Storage, StorageError } from "../../src/storage/Storage.ts"

/** The engine on the `Storage` that is provided; `drain` runs when the scope closes. */
export const engineLayer = (options: EngineOptions): Layer.Layer<Engine, StorageError, Storage> =>
  Layer.effect(
    Engine,
    Effect.gen(function* () {
      const engine = yield* makeEngine(options)
      yield* Effect.addFinalizer(() => engine.drain)
      return engine
    }),
  )
