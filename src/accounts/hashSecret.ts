/** The directory's secret, under which keys and devices are hashed. */
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import type { LaurelError } from "../domain/values/Errors.ts"
import type { Engine } from "../engine/Engine.ts"

const secretBytes = 32

/** The secret in hex; the first call creates it. */
export const hashSecretOf = (engine: Engine["Service"]): Effect.Effect<string, LaurelError> =>
  Effect.gen(function* () {
    const { hashSecret } = yield* engine.readDirectory
    if (hashSecret !== null) return hashSecret
    const made = randomBytes(secretBytes).toString("hex")
    // Two may make one at the same time: the directory keeps the first.
    yield* Effect.catchIf(
      engine.askDirectory({ kind: "createDirectory", hashSecret: made }),
      ({ code }) => code === "conflict",
      () => Effect.void,
    )
    return yield* hashSecretOf(engine)
  })
