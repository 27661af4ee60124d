import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import type { ProjectCommand, ProjectRefusals } from "../../domain/decide/Project.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { ErrorCode, LaurelError } from "../../domain/values/Errors.ts"
import type { Answer, Engine, Idempotency, ProjectCode } from "../../engine/Engine.ts"

/**
 * Asks the project for the command that `prepared` makes. `prepared` may refuse the request for
 * reasons that the engine cannot see. A repeat under the same Idempotency-Key does not run
 * `prepared`: it gets the first answer. The engine does not keep a refusal of `prepared` as an
 * answer.
 */
export const askPrepared = <Command extends ProjectCommand, Code extends ErrorCode>(
  engine: Engine["Service"],
  { environment }: Caller,
  prepared: Effect.Effect<Command, LaurelError<Code>>,
  idempotency: Idempotency | undefined,
): Effect.Effect<Answer<JournalRecord>, LaurelError<Code | ProjectCode<Command, Idempotency>>> => {
  const ask = (reserved?: Idempotency) =>
    Effect.flatMap(prepared, (command) => engine.askProject(environment, command, reserved))
  if (idempotency === undefined) return ask()
  const reserved = engine.reserve<ProjectRefusals[Command["kind"]]>(environment, idempotency)
  return Effect.flatMap(reserved, (reservation) => {
    if (!reservation.fresh) return Effect.succeed({ reply: reservation.record, replayed: true })
    // A caller that disconnects must not release the key while the command runs.
    return Effect.uninterruptible(
      Effect.ensuring(ask({ ...idempotency, reserved: true }), Effect.sync(reservation.release)),
    )
  })
}
