/** Decides a command on the durable state without applying it. */

import { Effect } from "effect"
import type { UserRefusal } from "../../domain/decide/Decide.ts"
import { duplicateKey, type JournalRecord, type TrackedEvent } from "../../domain/record/Record.ts"
import type { UserState } from "../../domain/user/User.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Broken } from "../../storage/Storage.ts"
import type { DecisionTurns } from "../actor/DecisionTurns.ts"
import type { UserMessage } from "../actor/Envelope.ts"
import type { Domain, Environment } from "../actor/Environments.ts"
import type { StorageCode } from "../actor/refusals.ts"
import type { Deduplicator } from "../dedupe/Deduplicator.ts"

/** `duplicate`: the command was applied before, and this is the record that it made. */
export interface Simulated {
  readonly record: JournalRecord
  readonly duplicate: boolean
}

export interface SimulationParts {
  readonly domain: Domain
  readonly turns: DecisionTurns
  readonly deduplicator: Deduplicator
  readonly environments: { of(id: string): Environment }
  readonly readUser: (
    environment: string,
    userId: string,
  ) => Effect.Effect<UserState | undefined, LaurelError<StorageCode>>
  readonly commit: { readonly durableSequence: number }
  readonly now: () => number
  readonly broken: (cause: Broken) => LaurelError<StorageCode>
}

export const makeSimulate = (parts: SimulationParts) =>
  Effect.fnUntraced(function* (
    environmentId: string,
    { command, userId }: UserMessage<TrackedEvent>,
  ): Effect.fn.Return<Simulated, LaurelError<StorageCode | UserRefusal<TrackedEvent>>> {
    const environment = parts.environments.of(environmentId)
    const key = duplicateKey(command)
    if (key !== undefined) {
      const actor = environment.users.get(userId) ?? environment.newUser(userId)
      const known = parts.deduplicator.firstOf(actor, key)
      const first = Effect.isEffect(known) ? yield* Effect.mapError(known, parts.broken) : known
      if (first !== undefined && first.sequence <= parts.commit.durableSequence) {
        return { record: first, duplicate: true }
      }
    }
    yield* parts.turns.turn(environmentId)
    const user = yield* parts.readUser(environmentId, userId)
    const at = parts.now()
    const { meter } = parts.turns
    const project = environment.project.durable
    const decided = parts.domain.decideUser(user, project, command, at, undefined, meter)
    parts.turns.decided(decided)
    const { cause, facts } = yield* Effect.fromResult(decided)
    const subject = { actor: "user", environment: environmentId, userId } as const
    return {
      record: { sequence: parts.commit.durableSequence + 1, at, subject, cause, facts },
      duplicate: false,
    }
  })
