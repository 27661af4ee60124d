/**
 * The engine for the rooms above: commands, reads, the feed of durable records, and its end. Its answers are durable.
 *
 * Commands and reads take and return plain, encodable data, so a second implementation could forward them to the machine
 * that has the project; three members need more than a message there and back: the callback of `askUserWithCallback`, the
 * `release` of `reserve`, and the stream of `readHistory`. The feed reads the journal of this process.
 */
import { Context, type Effect, type Stream } from "effect"
import type { DirectoryCommand } from "../domain/decide/Directory.ts"
import type { ProjectCommand } from "../domain/decide/Project.ts"
import type { ReplyTo } from "../domain/message/UserReply.ts"
import type { DirectoryState } from "../domain/project/Directory.ts"
import type { ProjectState } from "../domain/project/Project.ts"
import type { JournalRecord, UserCommand } from "../domain/record/Record.ts"
import type { UserState } from "../domain/user/User.ts"
import type { ErrorCode, LaurelError } from "../domain/values/Errors.ts"
import type { Metrics } from "../metrics/Metrics.ts"
import type { Broken, StorageError } from "../storage/Storage.ts"
import type {
  Answer,
  EngineCode,
  IntakeCode,
  LogAnnotations,
  ProjectCode,
  StorageCode,
  UserCode,
  UserMessage,
} from "./actor/Actor.ts"
import type { EnvironmentActions, EnvironmentCounts } from "./actor/Counts.ts"
import type { Outcome, Tally } from "./actor/Requests.ts"
import type { BackfillProgress } from "./badges/Backfills.ts"
import type { BoardCode, BoardPage, BoardQuery } from "./boards/ReadBoard.ts"
import type { Feed } from "./commit/Feed.ts"
import type { Durability } from "./commit/GroupCommit.ts"
import type { Idempotency, IdempotencyCode } from "./dedupe/Idempotency.ts"
import type { Simulate } from "./read/Simulation.ts"
import type { UserListPage, UserListQuery } from "./read/UserList.ts"
import type { RecoveryProgress, RecoveryReport } from "./recovery/Recovery.ts"
import type { StateOptions } from "./state/EngineState.ts"

export type {
  Answer,
  EngineCode,
  Idempotency,
  IdempotencyCode,
  LogAnnotations,
  Outcome,
  ProjectCode,
  StorageCode,
  Tally,
  UserMessage,
}

/** Commands. Each is answered when its record is durable. */
export interface EngineCommands {
  /** Asks one user; the user is created where a command needs it. */
  readonly askUser: <
    Command extends UserCommand,
    Asked extends Idempotency | undefined = undefined,
  >(
    environment: string,
    message: UserMessage<Command>,
    idempotency?: Asked,
  ) => Effect.Effect<Answer<ReplyTo<Command>>, LaurelError<UserCode<Command, Asked>>>
  /**
   * `askUser` for what is asked most: a fiber that waits costs more than the decision. Calls `done` once, maybe at
   * once, with the reply or the refusal; it must not throw. `annotations` are what the log says with the command.
   */
  readonly askUserWithCallback: <Command extends UserCommand>(
    environment: string,
    message: UserMessage<Command>,
    annotations: LogAnnotations,
    done: (outcome: Outcome<Command>) => void,
  ) => void
  /** Asks many users at once, in order per user; one refusal does not touch the rest. */
  readonly askUsers: <Command extends UserCommand>(
    environment: string,
    messages: ReadonlyArray<UserMessage<Command>>,
  ) => Effect.Effect<ReadonlyArray<Outcome<Command>>, LaurelError<IntakeCode>>
  /** `askUsers` for those who need no replies: nothing is kept of what was accepted but its number. */
  readonly tellUsers: (
    environment: string,
    messages: ReadonlyArray<UserMessage>,
  ) => Effect.Effect<Tally, LaurelError<IntakeCode>>
  /** Asks an environment's project actor; answers the record that was written. */
  readonly askProject: <
    Command extends ProjectCommand,
    Asked extends Idempotency | undefined = undefined,
  >(
    environment: string,
    command: Command,
    idempotency?: Asked,
  ) => Effect.Effect<Answer<JournalRecord>, LaurelError<ProjectCode<Command, Asked>>>
  readonly askDirectory: (command: DirectoryCommand) => Effect.Effect<JournalRecord, LaurelError>
  /**
   * The first answer to an Idempotency-Key, for a request that is more than one command; it fails with that answer
   * where it was a refusal. `fresh` reserves the key until `release`. `Kept` are the codes of the refusals that the
   * request may have kept.
   */
  readonly reserve: <Kept extends ErrorCode>(
    environment: string,
    idempotency: Idempotency,
  ) => Effect.Effect<
    | { readonly fresh: true; readonly release: () => void }
    | { readonly fresh: false; readonly record: JournalRecord },
    LaurelError<IdempotencyCode | StorageCode | Kept>
  >
}

/** Reads of durable state. */
export interface EngineReads {
  /** Decides an event on the durable state, or on the state after `drafts`, and changes nothing. */
  readonly simulate: Simulate
  /** The durable state of a user; `undefined`: never seen. */
  readonly readUser: (
    environment: string,
    userId: string,
  ) => Effect.Effect<UserState | undefined, LaurelError<StorageCode>>
  /** The same as it is when this is called; an exit where nothing is waited for, which is nearly always. */
  readonly userNow: EngineReads["readUser"]
  /**
   * The durable records of a user below the sequence `before` (default: all), newest first, in chunks that
   * are read as they are pulled and may be empty. None of a user who was never seen.
   */
  readonly readHistory: (
    environment: string,
    userId: string,
    before?: number,
  ) => Stream.Stream<ReadonlyArray<JournalRecord>, LaurelError<StorageCode>>
  /** Whether the user whom a durable record is about was erased since, also where one of the same id has come after. */
  readonly isErased: (record: JournalRecord) => Effect.Effect<boolean, LaurelError<StorageCode>>
  /** The ids of all environments that anything was ever sent to. */
  readonly readEnvironments: Effect.Effect<ReadonlyArray<string>>
  /** The durable definitions of an environment. */
  readonly readProject: (environment: string) => Effect.Effect<ProjectState>
  /** The same at once. */
  readonly projectNow: (environment: string) => ProjectState
  /** A page of an environment's users, in the order of their ids. */
  readonly listUsers: (
    environment: string,
    query: UserListQuery,
  ) => Effect.Effect<UserListPage, LaurelError<StorageCode>>
  /** Where the latest award of a badge to those who qualify already stands; `undefined`: none was asked for. */
  readonly readBackfill: (
    environment: string,
    badgeId: string,
  ) => Effect.Effect<BackfillProgress | undefined>
  /** How many users an environment has, and how many are in each quest. */
  readonly readCounts: (environment: string) => Effect.Effect<EnvironmentCounts>
  /** How many events an environment has had of each action. */
  readonly readActions: (environment: string) => Effect.Effect<EnvironmentActions>
  /**
   * Events of each of the last minutes, oldest first; the last is the current one. Imported events count in the minute in
   * which they occurred, all others in which they were received.
   */
  readonly readActivity: (environment: string) => Effect.Effect<ReadonlyArray<number>>
  readonly readDirectory: Effect.Effect<DirectoryState>
  /** The same at once. */
  readonly directoryNow: () => DirectoryState
  /** Epoch milliseconds at which the user was erased, at the latest; 0: not since any user token was made. */
  readonly erasedAt: (environment: string, userId: string) => number
  /** A page of the board of a window, by rank. */
  readonly readBoard: (
    environment: string,
    query: BoardQuery,
  ) => Effect.Effect<BoardPage, LaurelError<BoardCode>>
  /** A user's all-time rank, `null` when it is not on the board. */
  readonly readRank: (environment: string, userId: string) => Effect.Effect<number | null>
  /** For each xp (≥ 1) how many users have at least as much, O(log n) each. Hidden users are not counted. */
  readonly readCountsAtLeast: (
    environment: string,
    xps: ReadonlyArray<number>,
  ) => Effect.Effect<ReadonlyArray<number>>
}

export class Engine extends Context.Service<
  Engine,
  EngineCommands &
    EngineReads & {
      /** The durable journal, for those who tell of it. */
      readonly feed: Feed
      /** Refuses new commands, and ends when all that were accepted are durable and snapshotted. */
      readonly drain: Effect.Effect<void>
      /** The time, epoch milliseconds: that of records, which never goes back (`time/Clock.ts`). */
      readonly now: () => number
    }
>()("engine/Engine") {}

/* Options of an engine. */

export interface EngineOptions extends StateOptions {
  /** `fsync`: an answer means that the record is on disk. `relaxed`: it will be, soon. */
  readonly durability?: Durability
  readonly snapshotIntervalMs?: number
  readonly snapshotSliceEntriesMax?: number
  /** Without writes, a heartbeat record follows so long after a snapshot. */
  readonly heartbeatMs?: number
  readonly sweepIntervalMs?: number
  readonly clockCheckMs?: number
  /** The longest jump ahead of the machine's clock, also since the newest record, that is followed. */
  readonly clockJumpMsMax?: number
  /**
   * The lowest record of the journal that is needed, by what the storage has, where nothing holds the feed: another engine
   * writes, or the readers have yet to begin.
   */
  readonly needed?: Effect.Effect<number, StorageError>
  /** The storage is broken: the process must end at once. */
  readonly onBroken: (cause: Broken) => void
  readonly onRecovering?: (progress: RecoveryProgress) => void
  readonly onRecovered?: (report: RecoveryReport) => void
  /** Called with each record when it is durable, in order. */
  readonly onCommitted?: (record: JournalRecord) => void
  readonly metrics?: Metrics
}
