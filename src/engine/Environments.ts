/**
 * The actors of one environment of a project: its project actor, its warm users, and its leaderboard.
 * Created at its first use; nothing is shared between environments.
 */
import { Result } from "effect"
import type { DirectoryCommand, DirectoryState } from "../domain/Directory.ts"
import { applyDirectory, decideDirectory, emptyDirectory } from "../domain/Directory.ts"
import { Leaderboard } from "../domain/Leaderboard.ts"
import {
  applyProject,
  decideProject,
  emptyProject,
  type ProjectCommand,
  type ProjectState,
} from "../domain/Project.ts"
import {
  applyUser,
  decideUser,
  duplicateKey,
  type UserCommand,
  type UserState,
} from "../domain/User.ts"
import { Actor, type ActorKind } from "./Actor.ts"
import { decodeDirectory, decodeProject, decodeUser } from "./Codec.ts"

export type UserActor = Actor<UserState | undefined, UserCommand>
export type ProjectActor = Actor<ProjectState, ProjectCommand>
export type DirectoryActor = Actor<DirectoryState, DirectoryCommand>

/** The domain that actors run; tests put in one that fails. */
export interface Domain {
  readonly decideUser: typeof decideUser
  readonly applyUser: typeof applyUser
}

export const domain: Domain = { decideUser, applyUser }

const request = { kind: "request" } as const

export class Environment {
  readonly id: string
  readonly project: ProjectActor
  readonly users = new Map<string, UserActor>()
  board = new Leaderboard()
  readonly #userKind: UserActor["kind"]

  constructor(id: string, { applyUser, decideUser }: Domain) {
    this.id = id
    this.project = new Actor({ actor: "project", environment: id }, projectKind)
    this.#userKind = {
      decide: (state, command, now) => decideUser(state, this.project.state, command, now),
      apply: applyUser,
      empty: undefined,
      decode: decodeUser,
      sequenceOf: (state) => state?.sequence ?? 0,
      duplicateKey,
      committed: (actor) => this.rank(actor),
    }
  }

  newUser(userId: string): UserActor {
    return new Actor({ actor: "user", environment: this.id, userId }, this.#userKind)
  }

  /** Puts a user's durable score on the board. */
  rank(actor: UserActor): void {
    const user = actor.durable
    if (user === undefined) return
    if (actor.member === undefined) {
      if (user.xp === 0) return
      actor.member = this.board.memberOf(user.id)
    }
    this.board.set(actor.member, user.xp, user.scoreSequence)
  }
}

const projectKind: ProjectActor["kind"] = {
  decide: (state, command, now) =>
    Result.map(decideProject(state, command, now), (facts) => ({ cause: request, facts })),
  apply: applyProject,
  empty: emptyProject,
  decode: decodeProject,
  sequenceOf: (state) => state.sequence,
  duplicateKey: () => undefined,
  committed: () => {},
}

export const directoryKind: ActorKind<DirectoryState, DirectoryCommand> = {
  decide: (state, command, now) =>
    Result.map(decideDirectory(state, command, now), (facts) => ({ cause: request, facts })),
  apply: applyDirectory,
  empty: emptyDirectory,
  decode: decodeDirectory,
  sequenceOf: (state) => state.sequence,
  duplicateKey: () => undefined,
  committed: () => {},
}

export const newDirectory = (): DirectoryActor => new Actor({ actor: "directory" }, directoryKind)

export class Environments {
  readonly #byId = new Map<string, Environment>()
  readonly #domain: Domain

  constructor(domain: Domain) {
    this.#domain = domain
  }

  of(id: string): Environment {
    let environment = this.#byId.get(id)
    if (environment === undefined) {
      environment = new Environment(id, this.#domain)
      environment.project.loaded = true
      this.#byId.set(id, environment)
    }
    return environment
  }

  [Symbol.iterator](): IterableIterator<Environment> {
    return this.#byId.values()
  }
}
