/**
 * The environments of an engine, and the kinds of actors. An environment has a project actor, the
 * users that are in memory, leaderboards, an agenda and counts. It is made when it is first needed.
 * Environments share no state.
 */
import { Result } from "effect"
import { decideUser } from "../../domain/decide/Decide.ts"
import { type DirectoryCommand, decideDirectory } from "../../domain/decide/Directory.ts"
import { decideProject, type ProjectCommand } from "../../domain/decide/Project.ts"
import { type DirectoryState, emptyDirectory } from "../../domain/project/Directory.ts"
import { emptyProject, type ProjectState } from "../../domain/project/Project.ts"
import { applyDirectory } from "../../domain/record/applyDirectory.ts"
import { applyProject } from "../../domain/record/applyProject.ts"
import { applyUser } from "../../domain/record/applyUser.ts"
import {
  duplicateKey,
  type JournalRecord,
  referenceOf,
  type UserCommand,
} from "../../domain/record/Record.ts"
import type { UserState } from "../../domain/user/User.ts"
import type { Entry } from "../../storage/Storage.ts"
import { Boards } from "../boards/Boards.ts"
import { decodeDirectory, decodeProject, encodeDirectory, encodeProject } from "../records/Codec.ts"
import { decodeUser, encodeUser } from "../records/UserCodec.ts"
import { Agenda, dueSecond } from "../time/Agenda.ts"
import { Actor, type ActorKind, type AnyActor } from "./Actor.ts"
import { Counts } from "./Counts.ts"

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

const request = { kind: "request" } as const

interface EnvironmentOptions {
  readonly domain: Domain
  /** Epoch milliseconds that never go back. */
  readonly now: () => number
  /** Called when a user may be due sooner than the agenda said. */
  readonly sooner: () => void
}

export class Environment {
  readonly id: string
  readonly project: ProjectActor
  readonly users = new Map<string, UserActor>()
  readonly boards = new Boards()
  readonly agenda: Agenda
  readonly #options: EnvironmentOptions
  readonly counts = new Counts()
  readonly fresh = new UnsnapshottedUsers()
  readonly #userKind: UserActor["kind"]

  constructor(id: string, options: EnvironmentOptions) {
    const { applyUser, decideUser } = options.domain
    this.id = id
    this.#options = options
    this.agenda = new Agenda(options.sooner)
    this.project = new Actor(
      { actor: "project", environment: id },
      { ...projectKind, committed: (_, record) => this.#projectCommitted(record) },
    )
    this.#userKind = {
      decide: (state, command, now, found, meter, past) =>
        decideUser(state, this.project.state, command, now, found, meter, past),
      apply: applyUser,
      empty: undefined,
      decode: decodeUser,
      encode: (actor) => this.#encodeUser(actor),
      sequenceOf: (state) => state?.sequence ?? 0,
      duplicateKey,
      referenceOf,
      restsOn: ({ lastAppended }) => Math.max(lastAppended, this.project.lastAppended),
      committed: (actor, record) => this.#userCommitted(actor, record),
    }
  }

  newUser(userId: string): UserActor {
    return new Actor({ actor: "user", environment: this.id, userId }, this.#userKind)
  }

  #userCommitted(actor: UserActor, record: JournalRecord): void {
    const user = actor.durable
    if (user !== undefined) {
      this.boards.follow(actor, user, record)
      this.#schedule(actor, user, record)
    } else if (record.cause.kind === "erasure" && record.subject.actor === "user") {
      this.forget(record.subject.userId, record.sequence)
    }
  }

  /** Removes a user from boards and agenda, because of the record `sequence`. */
  forget(userId: string, sequence: number): void {
    const member = this.boards.members.find(userId)
    if (member !== undefined) this.agenda.set(member, 0)
    const actor = this.users.get(userId)
    if (actor !== undefined) actor.member = undefined
    this.boards.forget(userId, sequence)
  }

  /**
   * Lists the user on the agenda, at its next due time or earlier. Most records only move that time
   * later, which needs no change.
   */
  #schedule(actor: UserActor, user: UserState, record: JournalRecord): void {
    if (user.streaks.size === 0 && user.quests.size === 0) {
      if (actor.member !== undefined) this.agenda.set(actor.member, 0)
      return
    }
    actor.member ??= this.boards.members.admit(user.id)
    if (this.agenda.dueOf(actor.member) !== 0 && !mayBeDueSooner(record)) return
    this.agenda.set(actor.member, dueSecond(user, this.project.durable, record.at))
  }

  #encodeUser(actor: UserActor): Uint8Array | undefined {
    const user = actor.durable
    if (user === undefined) return undefined
    let due = 0
    if (user.streaks.size > 0 || user.quests.size > 0) {
      actor.member ??= this.boards.members.admit(user.id)
      due = dueSecond(user, this.project.durable, this.#options.now())
      this.agenda.set(actor.member, due)
    }
    return encodeUser(user, due)
  }

  #projectCommitted(record: JournalRecord): void {
    this.boards.close(record)
    if (this.project.durable.dueSequence === record.sequence) this.agenda.recheck()
  }
}

/** Whether a user's record may move the next due time earlier. */
const mayBeDueSooner = ({ cause, facts }: JournalRecord): boolean => {
  if (cause.kind !== "event" && cause.kind !== "reward") return true
  for (const { kind } of facts) {
    if (kind === "quest.started" || kind === "streak.extended" || kind === "streak.counted")
      return true
  }
  return false
}

const ownRecords = ({ lastAppended }: AnyActor): number => lastAppended

const projectKind: ProjectActor["kind"] = {
  decide: (state, command, now) =>
    Result.map(decideProject(state, command, now), (facts) => ({ cause: request, facts })),
  apply: applyProject,
  empty: emptyProject,
  decode: decodeProject,
  encode: ({ durable }) => encodeProject(durable),
  sequenceOf: (state) => state.sequence,
  duplicateKey: () => undefined,
  referenceOf: () => undefined,
  restsOn: ownRecords,
  committed: () => {},
}

const directoryKind: ActorKind<DirectoryState, DirectoryCommand> = {
  decide: (state, command, now) =>
    Result.map(decideDirectory(state, command, now), (facts) => ({ cause: request, facts })),
  apply: applyDirectory,
  empty: emptyDirectory,
  decode: decodeDirectory,
  encode: ({ durable }) => encodeDirectory(durable),
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

  /** Counts a durable record. The actor's durable state may not have it yet. */
  durable(record: JournalRecord): void {
    const { facts, subject } = record
    if (subject.actor !== "user") return
    const { counts, fresh } = this.of(subject.environment)
    counts.fold(record)
    if (facts[0]?.kind === "user.created") fresh.add(subject.userId)
  }

  /** The user's actor; `undefined`: it is not in memory. */
  userOf(environment: string, userId: string): UserActor | undefined {
    return this.of(environment).users.get(userId)
  }

  /** Whether a user whose actor is in memory has a durable state. */
  isThere(environment: string, userId: string): boolean {
    return this.userOf(environment, userId)?.durable !== undefined
  }

  /**
   * A snapshot begins. Returns the entries to write with its watermark, and callbacks for its
   * outcome.
   */
  beginSnapshot() {
    const counted: Array<Counts> = []
    const entries: Array<Entry> = []
    for (const { counts, fresh, id } of this) {
      fresh.seal()
      if (counts.erased.forget(this.#options.now())) counts.changed = true
      if (!counts.changed) continue
      counts.changed = false
      counted.push(counts)
      entries.push(counts.entry(id))
    }
    return {
      entries,
      ended: () => {
        for (const { fresh } of this) fresh.drop()
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
