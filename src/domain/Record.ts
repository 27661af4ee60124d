/**
 * A record is what one command did: its cause and the facts that were decided because of it. Records are
 * what the journal holds, one entry each, numbered by `sequence` over the whole data directory. State is
 * always the fold of `apply` over records, so a record carries all that `apply` and a reply need: changing
 * a rule or a level curve later never changes what a record says.
 */

import type { ApiKey, Project } from "./Directory.ts"
import type { LaurelError } from "./Errors.ts"
import type { Quest } from "./Quest.ts"
import type { Rule } from "./Rule.ts"
import type { Webhook } from "./Webhook.ts"

export type Metadata = { readonly [key: string]: unknown }

/**
 * What a client sent: both the command to the user's actor and the cause of what it decides. Times are epoch
 * milliseconds; `id` is the caller's own id, which makes a repeat a duplicate. An event without `occurredAt`
 * occurred when it was decided.
 */
export interface TrackedEvent {
  readonly kind: "event"
  readonly eventId: string
  readonly id?: string | undefined
  readonly action: string
  readonly occurredAt?: number | undefined
  readonly metadata?: Metadata | undefined
}

export interface GrantedReward {
  readonly kind: "reward"
  readonly rewardId: string
  readonly id?: string | undefined
  readonly type: "xp"
  readonly amount: number
  readonly reason?: string | undefined
}

/** Why a record exists. */
export type Cause = TrackedEvent | GrantedReward | { readonly kind: "request" }

/** What gave xp: a rule, a quest, or a reward granted by hand. */
export type XpSource =
  | { readonly ruleId: string }
  | { readonly questId: string }
  | { readonly rewardId: string }

/** What was decided. Balances (`total`, `xp`, `points`, `level`) are those after the record. */
export type Fact =
  | { readonly kind: "user.created" }
  | {
      readonly kind: "event.tracked" | "reward.granted"
      readonly xp: number
      readonly points: number
      readonly level: number
    }
  | {
      readonly kind: "xp.earned"
      readonly amount: number
      readonly total: number
      readonly source: XpSource
    }
  | { readonly kind: "level.changed"; readonly from: number; readonly to: number }
  | { readonly kind: "quest.completed"; readonly questId: string; readonly title: string }
  /** The user asked for a quest's reward again; nothing is earned. */
  | { readonly kind: "quest.repeated"; readonly questId: string; readonly title: string }
  | { readonly kind: "quest.created"; readonly quest: Quest }
  | { readonly kind: "rule.created"; readonly rule: Rule }
  | { readonly kind: "webhook.created"; readonly webhook: Webhook }
  | { readonly kind: "directory.created"; readonly hashSecret: string }
  | { readonly kind: "project.created"; readonly project: Project }
  | { readonly kind: "key.created"; readonly key: ApiKey }
  | { readonly kind: "key.revoked"; readonly keyId: string }
  /** A finished batch, kept for its Idempotency-Key; `results` is the reply as it was. */
  | { readonly kind: "batch.answered"; readonly results: unknown }

/** The promise of an Idempotency-Key: the record's reply, or `error`, is what a repeat gets. */
export interface Kept {
  readonly key: string
  readonly fingerprint: string
  readonly error?: LaurelError
}

/** Which actor a record belongs to: a user, an environment's project actor, or the one directory. */
export type Subject =
  | { readonly actor: "user"; readonly environment: string; readonly userId: string }
  | { readonly actor: "project"; readonly environment: string }
  | { readonly actor: "directory" }

export const sameSubject = (one: Subject, other: Subject): boolean =>
  one.actor === other.actor &&
  (one.actor === "directory" ||
    (one.environment === (other as typeof one).environment &&
      (one.actor === "project" || one.userId === (other as typeof one).userId)))

export interface JournalRecord {
  readonly sequence: number
  /** When it was decided, epoch milliseconds. */
  readonly at: number
  readonly subject: Subject
  readonly cause: Cause
  readonly facts: ReadonlyArray<Fact>
  readonly kept?: Kept
}
