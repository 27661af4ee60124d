/**
 * Decides a command without applying it, on the durable state or on that state with drafts of
 * definitions added.
 */
import { Effect, Result } from "effect"
import type { UserRefusal } from "../../domain/decide/Decide.ts"
import type { Decision } from "../../domain/decide/Draft.ts"
import { settleLeagues } from "../../domain/decide/Leagues.ts"
import {
  decideProject,
  type ProjectCommand,
  type ProjectRefusals,
} from "../../domain/decide/Project.ts"
import { contentDifferences, type Repeat } from "../../domain/decide/Repeat.ts"
import { aheadMsOf, type ProjectState } from "../../domain/project/Project.ts"
import { applyProject } from "../../domain/record/applyProject.ts"
import { HistoryNeeded, type Past } from "../../domain/record/Past.ts"
import type { Purchase } from "../../domain/record/Purchase.ts"
import {
  duplicateKey,
  type JournalRecord,
  revocationKey,
  type TrackedEvent,
} from "../../domain/record/Record.ts"
import type { UserState } from "../../domain/user/User.ts"
import { type Fault, invalidRequest, type LaurelError } from "../../domain/values/Errors.ts"
import type { Broken } from "../../storage/Storage.ts"
import type { StorageCode, UserMessage } from "../actor/Actor.ts"
import type { DecisionTurns } from "../actor/DecisionTurns.ts"
import type { Domain, Environment } from "../actor/Environments.ts"
import type { Deduplicator } from "../dedupe/Deduplicator.ts"

/*
 * Drafts: commands to the project that are applied to a copy of its definitions and stored nowhere.
 */

/** The kinds of commands that can be drafts. */
type DraftKind =
  | `${"create" | "update"}${"Badge" | "Boost" | "Currency" | "Goal" | "Item" | "Quest" | "Rule" | "Streak"}`
  | "createMetric"
  | "updateSettings"

/** A draft. The pointers of its faults begin with `pointer`, such as `/rule`. */
export interface DraftCommand<Kind extends DraftKind = DraftKind> {
  readonly pointer: string
  readonly command: Extract<ProjectCommand, { readonly kind: Kind }>
}

/**
 * The cost of drafts besides the decision, in units of `Matching.work` (0.04 µs). To copy and index
 * a definition takes up to 1.6 µs, most of it for conditions on the action of the event.
 */
const draftWork = ({ badges, boosts, goals, metrics, quests, rules }: ProjectState): number =>
  40 * (rules.size + quests.size + badges.size + boosts.size + metrics.size + goals.size)

/**
 * `project` after `drafts`, applied in order. A refusal has the faults of all drafts. The state has
 * all definitions, although an event needs only those of its action: the index of the next accepted
 * change may share the conditions of this state, if this was the last state that was indexed
 * (`ActionIndex.ts`).
 */
const withDrafts = (
  project: ProjectState,
  environment: string,
  drafts: ReadonlyArray<DraftCommand>,
  at: number,
): Result.Result<ProjectState, LaurelError<ProjectRefusals[DraftKind]>> => {
  const subject = { actor: "project", environment } as const
  const cause = { kind: "request" } as const
  const faults: Array<Fault> = []
  let state = project
  for (const { command, pointer } of drafts) {
    const decided = decideProject(state, command, at)
    if (Result.isSuccess(decided)) {
      const sequence = state.sequence + 1
      const facts = decided.success
      state = applyProject(state, {
        sequence,
        at,
        aheadMs: aheadMsOf(state),
        subject,
        cause,
        facts,
      })
    } else if (decided.failure.errors === undefined) {
      return Result.fail(decided.failure)
    } else {
      const { errors } = decided.failure
      faults.push(...errors.map((fault) => ({ ...fault, pointer: `${pointer}${fault.pointer}` })))
    }
  }
  return faults.length > 0 ? Result.fail(invalidRequest(faults)) : Result.succeed(state)
}

/** `repeat`: an earlier command with the same id made `record`. */
export interface Simulated {
  readonly record: JournalRecord
  readonly repeat: Repeat | undefined
}

interface SimulationParts {
  readonly domain: Domain
  readonly turns: DecisionTurns
  readonly deduplicator: Deduplicator
  readonly environments: { of(id: string): Environment }
  readonly readUser: (
    environment: string,
    userId: string,
  ) => Effect.Effect<UserState | undefined, LaurelError<StorageCode>>
  readonly history: {
    readonly recall: (
      environment: string,
      userId: string,
      needed: HistoryNeeded,
    ) => Effect.Effect<Past, Broken>
  }
  readonly commit: { readonly durableSequence: number }
  readonly now: () => number
  readonly broken: (cause: Broken) => LaurelError<StorageCode>
}

const refusalOf = <Refusal extends LaurelError>(failure: Refusal | HistoryNeeded): Refusal => {
  if (failure instanceof HistoryNeeded) throw new Error("A decision needs history that it has")
  return failure
}

/** What can be tried. */
type Tried = TrackedEvent | Purchase

/** The refusals of a command and of the drafts. */
type SimulationRefusal<Command extends Tried, Kind extends DraftKind> =
  | StorageCode
  | UserRefusal<Command>
  | ProjectRefusals[Kind]

export type Simulate = <Command extends Tried, Kind extends DraftKind = never>(
  environment: string,
  message: UserMessage<Command>,
  drafts?: ReadonlyArray<DraftCommand<Kind>>,
) => Effect.Effect<
  Simulated,
  // Drafts have no condition.
  LaurelError<Exclude<SimulationRefusal<Command, Kind>, "version_conflict">>
>

export const makeSimulate = (parts: SimulationParts): Simulate =>
  // `withDrafts` fails only with refusals of the kinds of its drafts.
  simulateWith(parts) as Simulate

/** The user after the tick by which the actor settles closed windows of leagues first. */
const afterSettling = (
  { domain: { applyUser, decideUser } }: SimulationParts,
  { cohorts }: Environment,
  project: ProjectState,
  user: UserState | undefined,
  at: number,
  recordOf: (decision: Decision) => JournalRecord,
): UserState | undefined => {
  if (settleLeagues(user, project, cohorts).length === 0) return user
  const tick = { kind: "tick" } as const
  const none = undefined
  const decided = decideUser(user, project, tick, at, none, none, none, none, none, cohorts)
  return Result.isFailure(decided) ? user : applyUser(user, recordOf(decided.success))
}

const simulateWith = (parts: SimulationParts) =>
  Effect.fnUntraced(function* (
    environmentId: string,
    { command, userId }: UserMessage<Tried>,
    drafts: ReadonlyArray<DraftCommand> = [],
  ): Effect.fn.Return<Simulated, LaurelError<SimulationRefusal<Tried, DraftKind>>> {
    const environment = parts.environments.of(environmentId)
    const actor = environment.users.get(userId) ?? environment.newUser(userId)
    const durableWith = Effect.fnUntraced(function* (key: string | undefined) {
      if (key === undefined) return undefined
      const absorbed = environment.durableOf(userId)?.absorbed
      const known = parts.deduplicator.firstOf(actor, key, absorbed)
      const first = Effect.isEffect(known) ? yield* Effect.mapError(known, parts.broken) : known
      return first !== undefined && first.sequence <= parts.commit.durableSequence
        ? first
        : undefined
    })
    const first = yield* durableWith(duplicateKey(command))
    if (first !== undefined) {
      const revocation = yield* durableWith(revocationKey(first.sequence))
      const differs = contentDifferences(command, first.cause)
      return { record: first, repeat: { differs, revoked: revocation !== undefined } }
    }
    yield* parts.turns.turn(environmentId)
    const known = yield* parts.readUser(environmentId, userId)
    const at = parts.now()
    const { meter } = parts.turns
    const { durable } = environment.project
    if (drafts.length > 0) meter.work += draftWork(durable)
    const project = withDrafts(durable, environmentId, drafts, at)
    const subject = { actor: "user", environment: environmentId, userId } as const
    const sequence = parts.commit.durableSequence + 1
    const aheadMs = aheadMsOf(durable)
    const recordOf = ({ cause, facts }: Decision): JournalRecord => {
      const record = { sequence, at, subject, cause, facts }
      return aheadMs === 0 ? record : { ...record, aheadMs }
    }
    const decide = (past?: Past) =>
      Result.flatMap(project, (drafted) =>
        parts.domain.decideUser(
          afterSettling(parts, environment, drafted, known, at, recordOf),
          drafted,
          command,
          at,
          undefined,
          meter,
          past,
          userId,
          undefined,
          environment.cohorts,
          environment.counts.sales.taken,
          environment.counts.goals,
        ),
      )
    let decided = decide()
    if (Result.isFailure(decided) && decided.failure instanceof HistoryNeeded) {
      const recalled = parts.history.recall(environmentId, userId, decided.failure)
      decided = decide(yield* Effect.mapError(recalled, parts.broken))
    }
    parts.turns.decided(decided)
    const decision = yield* Effect.fromResult(Result.mapError(decided, refusalOf))
    return { record: recordOf(decision), repeat: undefined }
  })
