/**
 * The engine as the layers above see it: commands, reads, the feed of durable records, and the
 * drain.
 *
 * Invariant: answers, reads and the feed show durable records only.
 *
 * Commands and reads take and return plain, encodable data, so a second implementation could
 * forward them to the server that owns the project. Three members need more than a request and a
 * reply: the callback of `askUserWithCallback`, the `release` of `reserve`, and the stream of
 * `readHistory`. The feed reads the journal of this process.
 */
import { Context, type Effect, type Stream } from "effect"
import type { DirectoryCommand } from "../domain/decide/Directory.ts"
import type { CohortRef } from "../domain/decide/Leagues.ts"
import type { ProjectCommand } from "../domain/decide/Project.ts"
import type { ReplyTo } from "../domain/message/UserReply.ts"
import type { DirectoryState } from "../domain/project/Directory.ts"
import type { Experiment } from "../domain/project/Experiment.ts"
import type { League } from "../domain/project/League.ts"
import type { ProjectState } from "../domain/project/Project.ts"
import type { JournalRecord, UserCommand } from "../domain/record/Record.ts"
import type { ActivityOfAll } from "../domain/user/ActivityOfAll.ts"
import type { CohortDays } from "../domain/user/CohortDays.ts"
import type { ExperimentTally, Measure } from "../domain/user/ExperimentTally.ts"
import type { MechanicTally } from "../domain/user/MechanicTally.ts"
import type { RangeUsers } from "../domain/user/RangeUsers.ts"
import type { UserState } from "../domain/user/User.ts"
import type { ErrorCode, LaurelError } from "../domain/values/Errors.ts"
import type { Metrics } from "../metrics/Metrics.ts"
import type { Broken, ReadWork, StorageError } from "../storage/Storage.ts"
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
import type { DayCounts } from "./actor/DayCounts.ts"
import type { GoalTotals } from "./actor/GoalTotals.ts"
import type { MechanicDays } from "./actor/MechanicDays.ts"
import type { ActionPaths } from "./actor/MetadataPaths.ts"
import type { RecapDays } from "./actor/RecapDays.ts"
import type { ReminderCounts } from "./actor/ReminderCounts.ts"
import type { Outcome, Tally } from "./actor/Requests.ts"
import type { BackfillProgress } from "./badges/Backfills.ts"
import type { CohortMember } from "./boards/Cohorts.ts"
import type {
  BoardCode,
  BoardGroup,
  BoardPage,
  BoardPlaceOf,
  BoardQuery,
  GroupsQuery,
  OfWindow,
  PageOf,
  ScoreAt,
  TeamEntry,
  WindowCode,
  WindowQuery,
} from "./boards/ReadBoard.ts"
import type { Feed } from "./commit/Feed.ts"
import type { Durability } from "./commit/GroupCommit.ts"
import type { Idempotency, IdempotencyCode } from "./dedupe/Idempotency.ts"
import type { Counted, Wait } from "./read/CountOfAll.ts"
import type { Contributors } from "./read/GoalContributors.ts"
import type { MetricSeries, MetricSeriesQuery } from "./read/MetricsOfAll.ts"
import type { SomeUsers } from "./read/RetentionOfSome.ts"
import type { SegmentCount } from "./read/SegmentCounts.ts"
import type { Simulate } from "./read/Simulation.ts"
import type { TeamMemberPage, TeamMemberQuery } from "./read/TeamMemberList.ts"
import type { ListBounds, UserListPage, UserListQuery } from "./read/UserList.ts"
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

/** Commands. Each is answered once its record is durable. */
export interface EngineCommands {
  /** Asks one user. Commands that need a user who does not exist create the user. */
  readonly askUser: <
    Command extends UserCommand,
    Asked extends Idempotency | undefined = undefined,
  >(
    environment: string,
    message: UserMessage<Command>,
    idempotency?: Asked,
  ) => Effect.Effect<Answer<ReplyTo<Command>>, LaurelError<UserCode<Command, Asked>>>
  /**
   * `askUser` for the most frequent commands: a waiting fiber would cost more than the decision.
   * Calls `done` exactly once, possibly before it returns, with the reply or the refusal; `done`
   * must not throw. Log lines about the command carry `annotations`.
   */
  readonly askUserWithCallback: <Command extends UserCommand>(
    environment: string,
    message: UserMessage<Command>,
    annotations: LogAnnotations,
    done: (outcome: Outcome<Command>) => void,
  ) => void
  /**
   * Asks many users. Commands of one user are handled in order; a refusal does not affect the
   * others.
   */
  readonly askUsers: <Command extends UserCommand>(
    environment: string,
    messages: ReadonlyArray<UserMessage<Command>>,
  ) => Effect.Effect<ReadonlyArray<Outcome<Command>>, LaurelError<IntakeCode>>
  /** `askUsers` for callers who need no replies: it only counts accepted commands. */
  readonly tellUsers: (
    environment: string,
    messages: ReadonlyArray<UserMessage>,
  ) => Effect.Effect<Tally, LaurelError<IntakeCode>>
  /** Asks an environment's project actor; returns the record that was written. */
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
   * The first answer to an Idempotency-Key, for a request of several commands. If the first answer
   * was a refusal, it fails with that. `fresh`: there is no answer, and the key is reserved until
   * `release`. `Kept` are the codes of the refusals that the request may have kept.
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
  /** Decides an event on the durable state, or on that state after `drafts`. Changes nothing. */
  readonly simulate: Simulate
  /**
   * The durable state of a user; `undefined`: the user does not exist. Here and in all reads, the
   * former id of a user who was merged leads to the user who stayed.
   */
  readonly readUser: (
    environment: string,
    userId: string,
  ) => Effect.Effect<UserState | undefined, LaurelError<StorageCode>>
  /** `readUser` as of this call; an exit if nothing must be waited for, which is nearly always. */
  readonly userNow: EngineReads["readUser"]
  /** The id of the user to whom an id leads. */
  readonly idNow: (environment: string, userId: string) => string
  /**
   * The durable records of a user below the sequence `before` (default: all), newest first, in
   * chunks that are read when they are pulled and may be empty. No records if the user does not
   * exist. `work` counts the blocks of segments that were read.
   */
  readonly readHistory: (
    environment: string,
    userId: string,
    before?: number,
    work?: ReadWork,
  ) => Stream.Stream<ReadonlyArray<JournalRecord>, LaurelError<StorageCode>>
  /**
   * Whether the user of a durable record was erased since, also if a user with the same id exists
   * again.
   */
  readonly isErased: (record: JournalRecord) => Effect.Effect<boolean, LaurelError<StorageCode>>
  /**
   * The durable record of a user of the environment with this sequence; `undefined`: there is none,
   * or the user was erased since.
   */
  readonly readRecord: (
    environment: string,
    sequence: number,
  ) => Effect.Effect<JournalRecord | undefined, LaurelError<StorageCode>>
  /**
   * The first durable record of a user whose command has this name (`duplicateKey`); `undefined`:
   * there is none, or the user was erased since.
   */
  readonly readNamed: (
    environment: string,
    userId: string,
    key: string,
  ) => Effect.Effect<JournalRecord | undefined, LaurelError<StorageCode>>
  /** The ids of all environments that have ever been used. */
  readonly readEnvironments: Effect.Effect<ReadonlyArray<string>>
  /** The durable definitions of an environment. */
  readonly readProject: (environment: string) => Effect.Effect<ProjectState>
  /** `readProject` without an effect. */
  readonly projectNow: (environment: string) => ProjectState
  /**
   * The environment's time in epoch milliseconds: `now`, unless a test clock is ahead of it. Dates
   * and decides all that concerns users and definitions.
   */
  readonly timeIn: (environment: string) => number
  /** Ends when the environment's test clock is not advancing. */
  readonly testClockReady: (environment: string) => Effect.Effect<void>
  /** A page of an environment's users. */
  readonly listUsers: (
    environment: string,
    query: UserListQuery,
  ) => Effect.Effect<UserListPage, LaurelError<StorageCode>>
  /** All users of such a list from the page on, in chunks. */
  readonly allUsers: (
    environment: string,
    query: Omit<UserListQuery, "limit">,
  ) => Stream.Stream<ReadonlyArray<UserState>, LaurelError<StorageCode>>
  /** A page of the members of a team, in the order of their ids. */
  readonly listTeamMembers: (
    environment: string,
    query: TeamMemberQuery,
  ) => Effect.Effect<TeamMemberPage, LaurelError<StorageCode>>
  /**
   * The progress of the latest award of a badge to users who qualify already; `undefined`: there
   * was none.
   */
  readonly readBackfill: (
    environment: string,
    badgeId: string,
  ) => Effect.Effect<BackfillProgress | undefined>
  /** The last count of a segment's members. Begins a new count if there is none or an old one. */
  readonly readSegmentCount: (environment: string, segmentId: string) => Effect.Effect<SegmentCount>
  /** A metric of all users by windows. Begins to make it if there is none or an old one. */
  readonly readMetricSeries: (
    environment: string,
    query: MetricSeriesQuery,
  ) => Effect.Effect<MetricSeries>
  /** The results of an experiment. Begins a new count if there is none or an old one. */
  readonly readExperiment: (
    environment: string,
    experiment: Experiment,
    measure: Measure,
    wait?: Wait,
  ) => Effect.Effect<Counted<ExperimentTally>>
  /** The last result of an experiment, for lists. Begins a new count if there is none or an old one. */
  readonly readLastResult: (
    environment: string,
    experiment: Experiment,
    measure: Measure,
  ) => Effect.Effect<Counted<ExperimentTally>>
  /** Active users and retention. Begins a new count if there is none or an old one. */
  readonly readActiveUsers: (
    environment: string,
    wait?: Wait,
  ) => Effect.Effect<Counted<ActivityOfAll>>
  /** Retention of a segment or a variant. Begins a new count if there is none or an old one. */
  readonly readRetention: (
    environment: string,
    some: SomeUsers,
    wait?: Wait,
  ) => Effect.Effect<Counted<CohortDays>>
  /** Who contributed most to each goal. Begins a new count if there is none or an old one. */
  readonly readContributors: (
    environment: string,
    wait?: Wait,
  ) => Effect.Effect<Counted<Contributors>>
  /** What each mechanic did. Begins a new count if there is none or an old one. */
  readonly readMechanics: (
    environment: string,
    wait?: Wait,
  ) => Effect.Effect<Counted<MechanicTally>>
  /** What each mechanic did on each day. */
  readonly readMechanicDays: (
    environment: string,
  ) => Effect.Effect<Pick<MechanicDays, "hasPlaceFor" | "on">>
  /** How many users were active in a range of days. Begins a count if there is none or an old one. */
  readonly readUsersOfRange: (
    environment: string,
    from: number,
    to: number,
    wait?: Wait,
  ) => Effect.Effect<Counted<RangeUsers>>
  /** What was earned besides xp on each day, and the longest runs of streaks. */
  readonly readRecapDays: (environment: string) => Effect.Effect<Pick<RecapDays, "on">>
  /** How many reminders were sent on each day, and how many users came back. */
  readonly readReminders: (environment: string) => Effect.Effect<Pick<ReminderCounts, "on">>
  /** What happened in an environment on each day. */
  readonly readDayCounts: (environment: string) => Effect.Effect<Pick<DayCounts, "on">>
  /** How many users an environment has, and how many are in each quest. */
  readonly readCounts: (environment: string) => Effect.Effect<EnvironmentCounts>
  /** How many events an environment has had of each action. */
  readonly readActions: (environment: string) => Effect.Effect<EnvironmentActions>
  /** The paths of metadata that the latest events of an action carried. */
  readonly readPaths: (environment: string, action: string) => Effect.Effect<ActionPaths>
  /**
   * The events of each of the last minutes, oldest first; the last minute is the current one.
   * Imported events count in the minute in which they occurred, all others in the minute in which
   * they were received.
   */
  readonly readActivity: (environment: string) => Effect.Effect<ReadonlyArray<number>>
  readonly readDirectory: Effect.Effect<DirectoryState>
  /** `readDirectory` without an effect. */
  readonly directoryNow: () => DirectoryState
  /** The totals of shared goals, by durable records, as of each call. */
  readonly goalTotals: (
    environment: string,
  ) => Pick<GoalTotals, "days" | "durableOf" | "durableTotals">
  /**
   * The latest time at which the user may have been erased, epoch milliseconds; 0: before any valid
   * user token.
   */
  readonly erasedAt: (environment: string, userId: string) => number
  /**
   * The value of an attribute in the durable state of a user who was not merged, as text. It costs less
   * than `readUser`, so that a page of a leaderboard can ask for each user.
   */
  readonly attributeNow: (environment: string, userId: string, name: string) => string | undefined
  /** A page of a window's board, in the order of ranks. */
  readonly readBoard: (
    environment: string,
    query: BoardQuery,
  ) => Effect.Effect<BoardPage, LaurelError<BoardCode>>
  /** A page of a window's board that ranks teams. */
  readonly readTeamBoard: (
    environment: string,
    query: BoardQuery,
  ) => Effect.Effect<PageOf<TeamEntry>, LaurelError<WindowCode | "team_not_found">>
  /** The places of these users on a window's board, best first; who is not listed comes last. */
  readonly lookUpOnBoard: (
    environment: string,
    query: WindowQuery,
    userIds: ReadonlyArray<string>,
  ) => Effect.Effect<
    OfWindow<{ readonly places: ReadonlyArray<BoardPlaceOf> }>,
    LaurelError<WindowCode>
  >
  /** A page of the groups of a window's board, by name. */
  readonly readBoardGroups: (
    environment: string,
    query: GroupsQuery,
  ) => Effect.Effect<
    OfWindow<{ readonly groups: ReadonlyArray<BoardGroup>; readonly hasMore: boolean }>,
    LaurelError<WindowCode>
  >
  /** The scores at these percents of the users on a window's board. */
  readonly readBoardScores: (
    environment: string,
    query: WindowQuery,
    percents: ReadonlyArray<number>,
  ) => Effect.Effect<OfWindow<{ readonly scores: ReadonlyArray<ScoreAt> }>, LaurelError<WindowCode>>
  /** The members of a cohort by their durable states, in the order of ranks. */
  readonly readCohort: (
    environment: string,
    cohort: CohortRef,
  ) => { readonly members: ReadonlyArray<CohortMember>; readonly of: number }
  /** The cohorts of a division in a window that is not settled, by number. */
  readonly listCohorts: (
    environment: string,
    division: Omit<CohortRef, "cohort">,
  ) => ReadonlyArray<{ readonly cohort: number; readonly size: number }>
  /** The oldest window of a league that has cohorts, without late ones; `undefined`: there is none. */
  readonly oldestCohorts: (environment: string, leagueId: string) => number | undefined
  /** For how many users a closed window of the league is not settled. */
  readonly unsettledCohorts: (environment: string, league: League) => number
  /** A user's all-time rank; `null`: the user is not listed. */
  readonly readRank: (environment: string, userId: string) => Effect.Effect<number | null>
  /**
   * For each of `xps` (≥ 1), how many users have at least as much, in O(log n). Hidden users are
   * not counted.
   */
  readonly readCountsAtLeast: (
    environment: string,
    xps: ReadonlyArray<number>,
  ) => Effect.Effect<ReadonlyArray<number>>
}

export class Engine extends Context.Service<
  Engine,
  EngineCommands &
    EngineReads & {
      /** The feed of durable records, for streams and webhooks. */
      readonly feed: Feed
      /**
       * Refuses new commands. Ends when the records of all accepted commands are durable and in a
       * snapshot.
       */
      readonly drain: Effect.Effect<void>
      /**
       * The server's time in epoch milliseconds, which never goes back (`time/Clock.ts`). Users and
       * definitions have that of their environment (`timeIn`).
       */
      readonly now: () => number
    }
>()("engine/Engine") {}

export interface EngineOptions extends StateOptions {
  /** `fsync`: an answer means that the record is on disk. `relaxed`: that it soon will be. */
  readonly durability?: Durability
  readonly snapshotIntervalMs?: number
  readonly snapshotSliceEntriesMax?: number
  readonly payoutGroupUsersMax?: number
  readonly payoutStepRows?: number
  readonly listBounds?: Partial<ListBounds>
  /** Without writes, the engine appends a heartbeat record this long after a snapshot. */
  readonly heartbeatMs?: number
  /** How long history is kept, in milliseconds; absent: for ever. */
  readonly historyMs?: number | undefined
  /** How often the journal is pruned and old segments are ended. */
  readonly journalUpkeepMs?: number
  /**
   * How long erasures are gathered before their records are deleted, and how often that is checked.
   */
  readonly erasureGatherMs?: number
  readonly erasureCheckMs?: number
  readonly clockCheckMs?: number
  /**
   * The longest jump ahead of the machine's clock that is followed, also from the newest record at
   * a start.
   */
  readonly clockJumpMsMax?: number
  /**
   * The lowest record of the journal that is needed, according to the storage. It counts while
   * nothing holds the feed: while another server writes, or before the readers have begun.
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
