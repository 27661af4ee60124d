import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import type { ProjectCommand, ProjectRefusals } from "../../domain/decide/Project.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { ErrorCode, LaurelError } from "../../domain/values/Errors.ts"
import type { Answer, Engine, Idempotency, ProjectCode } from "../../engine/Engine.ts"

/**
 * Asks the project what `prepared` makes of the request, which may refuse it for what the engine does not see. For
 * a repeat under the same Idempotency-Key that is not looked at again: it has the first answer. A refusal of
 * `prepared` is no answer that is kept.
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
    // A caller that goes away must not free the key while the command runs.
    return Effect.uninterruptible(
      Effect.ensuring(ask({ ...idempotency, reserved: true }), Effect.sync(reservation.release)),
    )
  })
}
