/**
 * The environments of an engine, and the kinds of actors. An environment has a project actor, the
 * states of its users, actors of those that are decoded, leaderboards, an agenda and counts. It is
 * made when it is first needed. Environments share no state.
 */
import { Result } from "effect"
import { decideUser } from "../../domain/decide/Decide.ts"
import { type DirectoryCommand, decideDirectory } from "../../domain/decide/Directory.ts"
import { leagueClosesAt } from "../../domain/decide/Leagues.ts"
import { decideProject, type ProjectCommand } from "../../domain/decide/Project.ts"
import { boundsOn, spanOf, xpBoard } from "../../domain/project/BoardDefinition.ts"
import { type DirectoryState, emptyDirectory } from "../../domain/project/Directory.ts"
import { lateWindow } from "../../domain/project/League.ts"
import { aheadMsOf, emptyProject, type ProjectState, timeIn } from "../../domain/project/Project.ts"
import { applyDirectory } from "../../domain/record/applyDirectory.ts"
import { applyProject } from "../../domain/record/applyProject.ts"
import { applyUser } from "../../domain/record/applyUser.ts"
import {
  decidedAt,
  duplicateKey,
  type Fact,
  type FactOf,
  type JournalRecord,
  type Subject,
  type UserCommand,
} from "../../domain/record/Record.ts"
import { referenceOf } from "../../domain/record/Reference.ts"
import { nextAbsence } from "../../domain/user/Absence.ts"
import { mayExpire } from "../../domain/user/Expiry.ts"
import { attributeText } from "../../domain/user/Group.ts"
import { isInLeagues } from "../../domain/user/LeagueReminder.ts"
import { reminderAt } from "../../domain/user/Reminder.ts"
import { isAlias, recountedMetric, type UserState } from "../../domain/user/User.ts"
import { timedWindows, zoneOf } from "../../domain/values/Calendar.ts"
import type { Entry } from "../../storage/Storage.ts"
import { AnnouncedRanks } from "../boards/AnnouncedRanks.ts"
import { Boards } from "../boards/Boards.ts"
import { Cohorts } from "../boards/Cohorts.ts"
import { TeamScores } from "../boards/TeamScores.ts"
import type { DaysRead } from "../records/ActivityBytes.ts"
import { decodeDirectory, decodeProject, encodeDirectory, encodeProject } from "../records/Codec.ts"
import { decodeChunk, StoredTeams, withTeamsOf } from "../records/TeamBytes.ts"
import { readDays } from "../records/UserHead.ts"
import { Agenda, dueSecond } from "../time/Agenda.ts"
import type { Bucket } from "../users/Bucket.ts"
import type { StateBytes } from "../users/BucketTable.ts"
import { UserStates } from "../users/UserStates.ts"
import { Actor, type ActorKind, type AnyActor } from "./Actor.ts"
import { Counts } from "./Counts.ts"
import { concernsMerge } from "./Merges.ts"
import { TeamMembers } from "./TeamMembers.ts"

/**
 * The users of an environment that were created since the last snapshot began and that it may lack.
 * They are kept by generation: a snapshot that ends drops the generations that it has, a snapshot
 * that fails drops none. A user may be both here and in the snapshot: readers of both merge by id.
 */
class UnsnapshottedUsers {
  /** Oldest first; the last generation takes new ids. */
  #generations: Array<Set<string>> = [new Set()]

  add(userId: string): void {
    this.#generations.at(-1)!.add(userId)
  }

  /** A snapshot begins: it will have all users that are here now. */
  seal(): void {
    this.#generations.push(new Set())
  }

  /** The snapshot that began last has ended. */
  drop(): void {
    this.#generations = [this.#generations.at(-1)!]
  }

  /** Each id at least once; ids that are added during the iteration may be missing. */
  *[Symbol.iterator](): Generator<string> {
    for (const generation of [...this.#generations]) yield* generation
  }
}

export type UserActor = Actor<UserState | undefined, UserCommand>
type ProjectActor = Actor<ProjectState, ProjectCommand>
export type DirectoryActor = Actor<DirectoryState, DirectoryCommand>

/** The pure functions that user actors run; tests replace them with functions that throw. */
export interface Domain {
  readonly decideUser: typeof decideUser
  readonly applyUser: typeof applyUser
}

export const domain: Domain = { decideUser, applyUser }

const userOf = (subject: Subject): string => (subject.actor === "user" ? subject.userId : "")

const request = { kind: "request" } as const

interface EnvironmentOptions {
  readonly domain: Domain
  /** Epoch milliseconds that never go back. */
  readonly now: () => number
  /** Called when a user may be due sooner than the agenda said. */
  readonly sooner: () => void
  /** Counts the bytes of all states. */
  readonly stateBytes: StateBytes
  /** Makes the secret of a new environment's hashes; absent: at random. */
  readonly newSecret?: (() => Uint8Array) | undefined
}

export class Environment {
  readonly id: string
  readonly project: ProjectActor
  /** The durable states of all users. Those of changed users are newer in their actors. */
  readonly states: UserStates<UserActor>
  /** The actors of the users that are decoded. */
  readonly users = new Map<string, UserActor>()
  readonly boards = new Boards(() => this.project.durable.metrics)
  readonly teamScores = new TeamScores(this.boards, () => this.project.durable)
  readonly announced = new AnnouncedRanks()
  readonly cohorts: Cohorts
  readonly agenda: Agenda
  readonly #options: EnvironmentOptions
  readonly counts = new Counts()
  readonly fresh = new UnsnapshottedUsers()
  /** The teams that the snapshot has. */
  readonly storedTeams = new StoredTeams()
  readonly teamMembers = new TeamMembers()
  readonly #userKind: UserActor["kind"]

  constructor(id: string, options: EnvironmentOptions) {
    const { applyUser, decideUser } = options.domain
    this.id = id
    this.#options = options
    this.agenda = new Agenda(options.sooner)
    this.cohorts = new Cohorts({
      boards: this.boards,
      standing: this.standing,
      durableOf: (userId) => this.durableOf(userId),
      late: (leagueId, window) =>
        lateWindow(this.project.durable.leagueCloses.get(leagueId), window),
      lostRanks: (cohort) => this.counts.lostSeats.ranksIn(cohort),
    })
    this.states = new UserStates(options.stateBytes, options.newSecret?.())
    this.project = new Actor(
      { actor: "project", environment: id },
      {
        ...projectKind,
        decide: (state, command, at) =>
          Result.map(decideProject(state, command, at, this.counts.goals), (facts) => ({
            cause: request,
            facts,
          })),
        appended: this.counts.goals.appended,
        committed: (_, record) => this.#projectCommitted(record),
      },
    )
    this.#userKind = {
      aheadMs: () => aheadMsOf(this.project.state),
      decide: (state, command, at, found, meter, past, subject) => {
        const project = this.project.state
        const decided = decideUser(
          state,
          project,
          command,
          at,
          found,
          meter,
          past,
          userOf(subject),
          this.standing,
          this.cohorts,
          this.counts.sales.taken,
          this.counts.goals,
        )
        if (project.leagues.size > 0 && Result.isSuccess(decided)) {
          this.cohorts.reserve(decided.success.facts)
        }
        return decided
      },
      apply: applyUser,
      appended: (record) => {
        this.counts.sales.appended(record)
        const { goals, leagues } = this.project.state
        if (goals.size > 0) this.counts.goals.appended(record)
        if (leagues.size > 0) this.cohorts.appended(record)
      },
      concernsMerge,
      empty: undefined,
      stored: undefined,
      sequenceOf: (state) => state?.sequence ?? 0,
      duplicateKey,
      referenceOf,
      restsOn: ({ lastChange }) => Math.max(lastChange, this.project.lastChange),
      committed: (actor, record) => this.#userCommitted(actor, record),
    }
  }

  newUser(userId: string): UserActor {
    const subject = { actor: "user", environment: this.id, userId } as const
    return new Actor(subject, this.#userKind, this.states.table.hashOf(userId))
  }

  /** The durable state of a user. */
  durableOf(userId: string): UserState | undefined {
    const actor = this.users.get(userId)
    return actor?.loaded ? actor.durable : this.states.read(userId)
  }

  /** The value of an attribute in the durable state of a user, as text; `undefined`: there is none. */
  attributeOf(userId: string, name: string): string | undefined {
    const actor = this.users.get(userId)
    if (actor?.loaded !== true) return this.states.attributeOf(userId, name)
    return attributeText(actor.durable?.profile.attributes ?? {}, name)
  }

  /** The latest state of a user, durable or not. */
  readonly standing = (userId: string): UserState | undefined => {
    const actor = this.users.get(userId)
    return actor?.loaded ? actor.state : this.states.read(userId)
  }

  /** The durable state of the user to whom the id leads. */
  userAt(userId: string): UserState | undefined {
    let user = this.durableOf(userId)
    while (user?.leadsTo?.done === true) user = this.durableOf(user.leadsTo.into)
    return user
  }

  /** A record of the user is durable: its bucket must be written. */
  changed(actor: UserActor): void {
    if (actor.isChanged) return
    actor.isChanged = true
    this.states.table.change(actor)
  }

  /** Puts the durable state of a changed user into its bucket. */
  settle(actor: UserActor): void {
    this.states.table.unchange(actor)
    this.#put(actor)
  }

  /** `settle` for all changed users of the bucket that covers `prefix`; returns that bucket. */
  settleBucket(prefix: number): Bucket<UserActor> {
    return this.states.table.settle(prefix, this.#put)
  }

  /**
   * The durable states of the users in the bucket that covers `prefix`, without aliases, and the
   * prefix behind it.
   * All buckets in turn, from 0 on, have all users.
   */
  usersFrom(prefix: number): { readonly users: ReadonlyArray<UserState>; readonly next: number } {
    const bucket = this.settleBucket(prefix)
    const users: Array<UserState> = []
    for (const userId of bucket.ids()) {
      const user = this.durableOf(userId)!
      if (!isAlias(user)) users.push(user)
    }
    return { users, next: bucket.end }
  }

  /**
   * Calls `see` for each user with active days in the bucket that covers `prefix`, with these in
   * `days`. Returns the prefix behind the bucket.
   */
  activityFrom(prefix: number, days: DaysRead, see: () => void): number {
    const bucket = this.settleBucket(prefix)
    for (let n = 0; n < bucket.count; n++) {
      if (readDays(days, bucket.bytes, bucket.stateStart(n), bucket.stateEnd(n))) see()
    }
    for (const { bytes } of bucket.large?.values() ?? []) {
      if (readDays(days, bytes, 0, bytes.length)) see()
    }
    return bucket.end
  }

  /**
   * Calls `see` for the durable state of each user in the bucket that covers `prefix`, aliases
   * included. Returns the prefix behind the bucket.
   */
  bytesFrom(
    prefix: number,
    see: (bytes: Buffer, at: number, end: number, idOf: () => string) => void,
  ): number {
    const bucket = this.settleBucket(prefix)
    let n = 0
    const idOf = () => bucket.idOf(n)
    for (; n < bucket.count; n++) see(bucket.bytes, bucket.stateStart(n), bucket.stateEnd(n), idOf)
    for (const [id, { bytes }] of bucket.large ?? []) see(bytes, 0, bytes.length, () => id)
    return bucket.end
  }

  readonly #put = (actor: UserActor): void => {
    const { durable, subject } = actor
    actor.isChanged = false
    if (durable !== undefined) this.states.put(durable, this.#dueOf(actor, durable))
    else if (subject.actor === "user") this.states.remove(subject.userId)
  }

  #userCommitted(actor: UserActor, record: JournalRecord): void {
    const user = actor.durable
    if (user !== undefined && isAlias(user)) {
      if (record.cause.kind === "mergeEnd") this.#leaveBoards(user.id, record)
    } else if (user !== undefined) {
      this.boards.follow(actor, user, record)
      if (this.project.durable.leagues.size > 0) {
        this.cohorts.follow(user.id, record.facts, this.project.durable)
      }
      this.#schedule(actor, user, record)
    } else if (record.cause.kind === "erasure" && record.subject.actor === "user") {
      this.#forget(record.subject.userId, record)
    }
  }

  /** Removes a user from states, boards, cohorts and agenda. */
  #forget(userId: string, record: JournalRecord): void {
    this.states.remove(userId)
    this.#leaveBoards(userId, record)
  }

  #leaveBoards(userId: string, { facts, sequence }: JournalRecord): void {
    const member = this.boards.members.find(userId)
    if (member !== undefined) {
      this.agenda.set(member, 0)
      if (this.project.durable.leagues.size > 0) {
        const gone = facts.find(isGone)
        this.cohorts.leave(member, gone?.seats ?? [], this.project.durable)
      }
    }
    const actor = this.users.get(userId)
    if (actor !== undefined) actor.member = undefined
    this.boards.forget(userId, sequence)
  }

  /**
   * Lists the user on the agenda, at its next due time or earlier. Most records only move that time
   * later, which needs no change.
   */
  #schedule(actor: UserActor, user: UserState, record: JournalRecord): void {
    if (!mayBeDue(user)) {
      if (actor.member !== undefined) this.agenda.set(actor.member, 0)
      return
    }
    actor.member ??= this.boards.members.admit(user.id)
    const { durable } = this.project
    const now = decidedAt(record)
    const second = this.agenda.dueOf(actor.member)
    if (second !== 0 && !mayBeDueSooner(record)) {
      // After the last reminder of an absence, an event makes the first one due again, and it moves
      // the expiry days of a currency that ends by inactivity.
      const absence = nextAbsence(user, durable, now)?.at ?? Number.POSITIVE_INFINITY
      if (Math.min(absence, reminderAt(user, durable, now)) >= second * 1_000) return
    }
    this.agenda.set(actor.member, dueSecond(user, durable, now))
  }

  /**
   * The earliest time at which a user is due or a window ends because of a record that is not
   * durable yet, so that agenda and boards lack it; infinity: there is none. Looks at all decoded
   * users: for test clocks only.
   */
  dueInFlight(): number {
    const { state } = this.project
    const now = timeIn(state, this.#options.now())
    const zone = zoneOf(state.settings.timezone)
    let due = Number.POSITIVE_INFINITY
    for (const { lastAppended, lastDurable, state: user } of this.users.values()) {
      if (lastAppended === lastDurable || user === undefined) continue
      const second = dueSecond(user, state, now)
      if (second > 0) due = Math.min(due, second * 1_000)
      const scores = user.boards.entries().map(([id, one]) => [id, one.windows] as const)
      for (const [boardId, windows] of [[xpBoard.id, user.windows] as const, ...scores]) {
        for (const kind of timedWindows) {
          const { index, sequence } = windows[kind]
          if (sequence <= lastDurable) continue
          const board = state.leaderboards.get(boardId) ?? xpBoard
          const span = spanOf(board, kind)
          if (span !== undefined) due = Math.min(due, boundsOn(board, zone, span, index).endsAt)
        }
      }
      for (const [leagueId, { entry }] of user.leagues) {
        const league = state.leagues.get(leagueId)
        if (entry === null || league === undefined || league.set === "archived") continue
        due = Math.min(due, leagueClosesAt(league, zone, entry.window))
      }
    }
    return due
  }

  #dueOf(actor: UserActor, user: UserState): number {
    if (!mayBeDue(user)) return 0
    actor.member ??= this.boards.members.admit(user.id)
    const { durable } = this.project
    const due = dueSecond(user, durable, timeIn(durable, this.#options.now()))
    this.agenda.set(actor.member, due)
    return due
  }

  #projectCommitted(record: JournalRecord): void {
    this.boards.followProject(record)
    if (record.facts.some(({ kind }) => kind === "league.window_closed")) {
      this.cohorts.prune(this.project.durable)
    }
    if (this.project.durable.dueSequence === record.sequence) this.agenda.recheck()
  }
}

const isGone = (fact: Fact): fact is FactOf<"user.deleted" | "user.aliased"> =>
  fact.kind === "user.deleted" || fact.kind === "user.aliased"

const mayBeDue = (user: UserState): boolean =>
  user.activity !== null ||
  user.streaks.size > 0 ||
  user.quests.size > 0 ||
  mayExpire(user) ||
  isInLeagues(user) ||
  user.leadsTo?.done === false ||
  user.erasing > 0 ||
  recountedMetric(user) !== undefined

/** Whether a user's record may move the next due time earlier. */
const mayBeDueSooner = ({ cause, facts }: JournalRecord): boolean => {
  if (cause.kind !== "event" && cause.kind !== "reward") return true
  for (const fact of facts) {
    switch (fact.kind) {
      case "quest.started":
      case "streak.extended":
      case "streak.counted":
        return true
      case "points.earned":
      case "currency.earned":
        if (fact.lastDay !== undefined) return true
    }
  }
  return false
}

const ownRecords = ({ lastChange }: AnyActor): number => lastChange

const projectKind: ProjectActor["kind"] = {
  aheadMs: aheadMsOf,
  decide: (state, command, at) =>
    Result.map(decideProject(state, command, at), (facts) => ({ cause: request, facts })),
  apply: applyProject,
  appended: () => {},
  empty: emptyProject,
  concernsMerge: () => false,
  stored: {
    decode: ({ body, chunks }) =>
      withTeamsOf(
        decodeProject(body),
        chunks.map(([number, chunk]) => decodeChunk(number, chunk)),
      ),
    encode: encodeProject,
  },
  sequenceOf: (state) => state.sequence,
  duplicateKey: () => undefined,
  referenceOf: () => undefined,
  restsOn: ownRecords,
  committed: () => {},
}

const directoryKind: ActorKind<DirectoryState, DirectoryCommand> = {
  aheadMs: () => 0,
  decide: (state, command, at) =>
    Result.map(decideDirectory(state, command, at), (facts) => ({ cause: request, facts })),
  apply: applyDirectory,
  appended: () => {},
  empty: emptyDirectory,
  concernsMerge: () => false,
  stored: { decode: ({ body }) => decodeDirectory(body), encode: encodeDirectory },
  sequenceOf: (state) => state.sequence,
  duplicateKey: () => undefined,
  referenceOf: () => undefined,
  restsOn: ownRecords,
  committed: () => {},
}

export const newDirectory = (): DirectoryActor => new Actor({ actor: "directory" }, directoryKind)

export class Environments {
  readonly #byId = new Map<string, Environment>()
  readonly #options: EnvironmentOptions
  /** The environment that `of` returned last. */
  #latest: Environment | undefined

  constructor(options: EnvironmentOptions) {
    this.#options = options
  }

  of(id: string): Environment {
    if (this.#latest?.id !== id) this.#latest = this.#find(id)
    return this.#latest
  }

  #find(id: string): Environment {
    let environment = this.#byId.get(id)
    if (environment === undefined) {
      environment = new Environment(id, this.#options)
      environment.project.loaded = true
      this.#byId.set(id, environment)
    }
    return environment
  }

  /** Counts a durable record, and scores for teams. The actor's durable state may not have it yet. */
  durable(record: JournalRecord): void {
    const { facts, subject } = record
    if (subject.actor === "directory") return
    const { announced, counts, fresh, teamMembers, teamScores } = this.of(subject.environment)
    if (subject.actor === "project") counts.foldGoals(record)
    teamScores.fold(record)
    announced.fold(record)
    if (subject.actor !== "user") return
    counts.fold(record)
    teamMembers.fold(record, subject.userId)
    if (facts[0]?.kind === "user.created") fresh.add(subject.userId)
  }

  /** The user's actor; `undefined`: it is not in memory. */
  userOf(environment: string, userId: string): UserActor | undefined {
    return this.of(environment).users.get(userId)
  }

  /** Whether a user has a durable state. */
  isThere(environment: string, userId: string): boolean {
    const { states, users } = this.of(environment)
    const actor = users.get(userId)
    return actor?.loaded ? actor.durable !== undefined : states.has(userId)
  }

  /**
   * A snapshot begins. Returns the entries to write with its watermark; some are encoded when
   * they are read, and callbacks for its outcome.
   */
  beginSnapshot() {
    const counted: Array<Counts> = []
    const entries: Array<Entry> = []
    const rows: Array<Iterable<Entry>> = []
    for (const { announced, counts, fresh, id, teamMembers, teamScores } of this) {
      fresh.seal()
      for (const entry of teamScores.begin(id)) entries.push(entry)
      for (const entry of announced.begin(id)) entries.push(entry)
      for (const entry of teamMembers.begin(id)) entries.push(entry)
      rows.push(counts.goals.rows.begin(id), counts.goals.days.begin(id))
      if (counts.erased.forget(this.#options.now())) counts.changed = true
      if (!counts.changed) continue
      counts.changed = false
      counted.push(counts)
      entries.push(counts.entry(id))
    }
    return {
      entries: concat(entries, rows),
      ended: () => {
        for (const { announced, counts, fresh, teamMembers, teamScores } of this) {
          announced.ended()
          fresh.drop()
          counts.goals.rows.ended()
          counts.goals.days.ended()
          teamMembers.ended()
          teamScores.ended()
        }
      },
      failed: () => {
        for (const counts of counted) counts.changed = true
      },
    }
  }

  [Symbol.iterator](): IterableIterator<Environment> {
    return this.#byId.values()
  }
}

function* concat(entries: Iterable<Entry>, more: Iterable<Iterable<Entry>>): Generator<Entry> {
  yield* entries
  for (const each of more) yield* each
}
