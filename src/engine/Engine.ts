/**
 * The engine as everything above it sees it: few verbs over plain, encodable data, so that a second
 * implementation can forward them to the machine that owns a project. What it answers is durable.
 */
import { Context, type Effect } from "effect"
import type { DirectoryCommand, DirectoryState } from "../domain/Directory.ts"
import type { LaurelError } from "../domain/Errors.ts"
import type { BoardPage } from "../domain/Leaderboard.ts"
import type { ProjectCommand, ProjectState } from "../domain/Project.ts"
import type { JournalRecord } from "../domain/Record.ts"
import type { UserCommand, UserReply, UserState } from "../domain/User.ts"

/**
 * The promise asked for with an Idempotency-Key: for 24 hours the same key and fingerprint get the first
 * answer again. The fingerprint covers method, path and body.
 */
export interface Idempotency {
  readonly key: string
  readonly fingerprint: string
}

/** `replayed`: the answer is that of an earlier request with the same Idempotency-Key. */
export interface Answer<A> {
  readonly reply: A
  readonly replayed: boolean
}

export interface UserMessage {
  readonly userId: string
  readonly command: UserCommand
}

export class Engine extends Context.Service<
  Engine,
  {
    /** Asks one user; the user is created where a command needs it. */
    readonly askUser: (
      environment: string,
      message: UserMessage,
      idempotency?: Idempotency,
    ) => Effect.Effect<Answer<UserReply>, LaurelError>
    /** Asks many users at once, in order per user; one refusal does not touch the rest. */
    readonly askUsers: (
      environment: string,
      messages: ReadonlyArray<UserMessage>,
    ) => Effect.Effect<ReadonlyArray<UserReply | LaurelError>, LaurelError>
    /** Asks an environment's project actor; answers the record that was written. */
    readonly askProject: (
      environment: string,
      command: ProjectCommand,
      idempotency?: Idempotency,
    ) => Effect.Effect<Answer<JournalRecord>, LaurelError>
    readonly askDirectory: (command: DirectoryCommand) => Effect.Effect<JournalRecord, LaurelError>
    /** The durable state of a user; `undefined`: never seen. */
    readonly readUser: (
      environment: string,
      userId: string,
    ) => Effect.Effect<UserState | undefined, LaurelError>
    /** The durable definitions of an environment. */
    readonly readProject: (environment: string) => Effect.Effect<ProjectState>
    readonly readDirectory: Effect.Effect<DirectoryState>
    /** A page of the all-time board, by rank. */
    readonly readBoard: (
      environment: string,
      page: { readonly limit: number; readonly offset: number },
    ) => Effect.Effect<BoardPage>
    /** A user's all-time rank, `null` when it is not on the board. */
    readonly readRank: (environment: string, userId: string) => Effect.Effect<number | null>
    /**
     * The first answer to an Idempotency-Key, for a request that spans many commands: `fresh` reserves the
     * key until `release`.
     */
    readonly reserve: (
      environment: string,
      idempotency: Idempotency,
    ) => Effect.Effect<
      | { readonly fresh: true; readonly release: () => void }
      | { readonly fresh: false; readonly record: JournalRecord },
      LaurelError
    >
    /** Refuses new commands, and ends when all that were accepted are durable and snapshotted. */
    readonly drain: Effect.Effect<void>
  }
>()("engine/Engine") {}
