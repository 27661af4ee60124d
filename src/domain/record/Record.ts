/**
 * A record is what one command did: its cause and the facts that were decided because of it. Records are
 * what the journal holds, one entry each, numbered by `sequence` over the whole data directory. State is
 * always the fold of `apply` over records, so a record carries all that `apply` and a reply need: changing
 * a rule or a level curve later never changes what a record says.
 */
import type { AccountFact } from "../accounts/AccountFact.ts"
import type { Badge } from "../project/Badge.ts"
import type { ApiKey, Project } from "../project/Directory.ts"
import type { ProjectSettings } from "../project/Project.ts"
import type { Quest } from "../project/Quest.ts"
import type { Rule } from "../project/Rule.ts"
import type { DisabledReason, Webhook } from "../project/Webhook.ts"
import type { StepCounts } from "../user/QuestState.ts"
import type { StreakState } from "../user/Streak.ts"
import type { Profile } from "../user/User.ts"
import type { WindowKind } from "../values/Calendar.ts"
import type { LaurelError } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"

/**
 * What a client sent: both the command to the user's actor and the cause of what it decides. Times are epoch
 * milliseconds; `id` is the caller's own id, which makes a repeat a duplicate. An event without `occurredAt`
 * occurred when it was decided. Laurel's own id of an event or a reward is made from its record (`recordId`).
 */
export interface TrackedEvent {
  readonly kind: "event"
  readonly id?: string | undefined
  readonly action: string
  readonly occurredAt?: number | undefined
  readonly metadata?: Metadata | undefined
  /** It is history from elsewhere: it may be of any age, and no message tells of it. */
  readonly imported?: true | undefined
}

export type GrantedReward = {
  readonly kind: "reward"
  readonly id?: string | undefined
  readonly reason?: string | undefined
} & (
  | { readonly type: "xp" | "points"; readonly amount: number }
  | { readonly type: "badge"; readonly badgeId: string }
)

/** Takes back what the event or reward of this record gave. `at` is the record's, so that another's number is not mistaken for it. */
export interface Revocation {
  readonly kind: "revocation"
  readonly of: "event" | "reward"
  readonly sequence: number
  readonly at: number
}

/** Changes the members that are there. */
export interface ProfileChange {
  readonly kind: "profile"
  readonly change: Partial<Profile>
}

/** Everything about the user is to be forgotten. */
export interface Erasure {
  readonly kind: "erasure"
}

/**
 * Gives a badge to who qualifies already. `counted` is the number of the user's events that count for it,
 * taken from the history up to the record `countedUpTo`; for badges that count actions.
 */
export interface Backfill {
  readonly kind: "backfill"
  readonly badgeId: string
  readonly counted?: number | undefined
  readonly countedUpTo?: number | undefined
  /** Whether messages tell of it. */
  readonly notify: boolean
}

/** Time has passed: what ended by itself is noted. */
export interface Tick {
  readonly kind: "tick"
}

export type UserCommand =
  | TrackedEvent
  | GrantedReward
  | Revocation
  | ProfileChange
  | Erasure
  | Backfill
  | Tick

/** Why a record exists. */
export type Cause = UserCommand | { readonly kind: "request" }

/** What gave xp, points or a badge: a rule, a quest, a reward granted by hand, or, for a badge, its own criteria. */
export type Source =
  | { readonly ruleId: string }
  | { readonly questId: string }
  | "reward"
  | "criteria"

export interface QuestRef {
  readonly questId: string
  readonly title: string
  /** The index of the window that a recurring quest is in (`Calendar.ts`), 0 for a quest that does not recur. */
  readonly period: number
}

/** What was decided because of a user's command. Balances (`total`, `xp`, `points`, `level`) are those after the record. */
export type UserFact =
  | { readonly kind: "user.created" }
  | { readonly kind: "user.updated"; readonly profile: Profile }
  /** The ids of the quests that the user was midway in, and of those completed: what the counts lose. */
  | {
      readonly kind: "user.deleted"
      readonly inProgress: ReadonlyArray<string>
      readonly completed: ReadonlyArray<string>
    }
  | {
      readonly kind: "event.tracked" | "reward.granted"
      readonly xp: number
      readonly points: number
      readonly level: number
    }
  /** `shortfall`: what could not be taken back, because the balance was spent. */
  | {
      readonly kind: "event.revoked" | "reward.revoked"
      readonly xp: number
      readonly points: number
      readonly level: number
      readonly shortfall: { readonly xp: number; readonly points: number }
    }
  | {
      readonly kind: "xp.earned" | "points.earned"
      readonly amount: number
      readonly total: number
      readonly source: Source
    }
  | {
      readonly kind: "xp.revoked" | "points.revoked"
      readonly amount: number
      readonly total: number
    }
  /** The xp of the record, which may be negative, in the windows that it counts for: each by its index, absent where it is closed. */
  | {
      readonly kind: "windows.credited"
      readonly amount: number
      readonly daily?: number
      readonly weekly?: number
      readonly monthly?: number
    }
  | { readonly kind: "level.changed"; readonly from: number; readonly to: number }
  /** A rule with a limit or a cooldown gave; `period` counts the limit's periods. `times: -1` when it is taken back. */
  | {
      readonly kind: "rule.used"
      readonly ruleId: string
      readonly period: number
      readonly occurredAt: number
      readonly times: 1 | -1
    }
  /** How many events have counted for a badge; by a backfill, in the whole history. */
  | { readonly kind: "badge.counted"; readonly badgeId: string; readonly current: number }
  /** `target`: what was asked for when it was earned; absent for one that was given. */
  | {
      readonly kind: "badge.earned"
      readonly badgeId: string
      readonly name: string
      readonly source: Source
      readonly target?: number
    }
  | { readonly kind: "badge.revoked"; readonly badgeId: string; readonly name: string }
  | ({ readonly kind: "quest.started" } & QuestRef)
  | ({
      readonly kind: "quest.progressed"
      readonly step: string
      readonly current: number
      readonly target: number
      /** The share of the whole quest that is done, 0 to 1. */
      readonly progress: number
    } & QuestRef)
  /** `times`: how often the user has completed it, with this. */
  | ({ readonly kind: "quest.completed"; readonly times: number } & QuestRef)
  /** The user asked for a quest's reward again; nothing is earned. */
  | ({ readonly kind: "quest.repeated" } & QuestRef)
  | ({ readonly kind: "quest.expired" } & QuestRef)
  /** A step or a completion was taken back: what is left, where the user stood (`from`) and stands now (`to`). */
  | ({
      readonly kind: "quest.reverted"
      readonly from: "in_progress" | "completed" | "expired"
      readonly to: "not_started" | "in_progress" | "completed" | "expired"
      /** The share that is left, 0 to 1. */
      readonly progress: number
      readonly steps: StepCounts
      readonly times: number
    } & QuestRef)
  /** The streak as it is now: a day was added at its end (`extended`) or in its past (`counted`). */
  | {
      readonly kind: "streak.extended" | "streak.counted"
      readonly key: string
      readonly current: number
      readonly streak: StreakState
    }
  | {
      readonly kind: "streak.broken"
      readonly key: string
      readonly length: number
      readonly streak: StreakState
    }

/** What was decided because of a request that concerns a whole environment, or the directory. */
export type ProjectFact =
  | { readonly kind: "quest.created" | "quest.updated"; readonly quest: Quest }
  | { readonly kind: "rule.created" | "rule.updated"; readonly rule: Rule }
  | { readonly kind: "rule.deleted"; readonly ruleId: string }
  | { readonly kind: "badge.created" | "badge.updated"; readonly badge: Badge }
  | { readonly kind: "project.updated"; readonly settings: ProjectSettings }
  | { readonly kind: "webhook.created"; readonly webhook: Omit<Webhook, "since"> }
  | { readonly kind: "webhook.updated"; readonly webhook: Webhook }
  | { readonly kind: "webhook.deleted" | "webhook.tested"; readonly webhookId: string }
  /** Laurel has given up on it. */
  | {
      readonly kind: "webhook.disabled"
      readonly webhookId: string
      readonly description: string | null
      readonly reason: Exclude<DisabledReason, "manual">
    }
  /** A message is to be sent once more: that of the fact at `index` of the record `sequence`. */
  | {
      readonly kind: "webhook.redelivered"
      readonly webhookId: string
      readonly sequence: number
      readonly at: number
      readonly index: number
    }
  /** Everything from `since` on that failed or was missed is to be sent. */
  | { readonly kind: "webhook.recovered"; readonly webhookId: string; readonly since: number }
  /** A window of the leaderboard is over: `total` users were on it. Times are epoch milliseconds. */
  | {
      readonly kind: "leaderboard.window_closed"
      readonly window: WindowKind
      readonly index: number
      readonly startsAt: number
      readonly endsAt: number
      readonly total: number
    }
  | { readonly kind: "backfill.started"; readonly badgeId: string; readonly notify: boolean }
  | {
      readonly kind: "backfill.finished"
      readonly badgeId: string
      readonly checked: number
      readonly awarded: number
    }
  /** A finished batch, kept for its Idempotency-Key; `results` is the reply as it was. */
  | { readonly kind: "batch.answered"; readonly results: unknown }

export type DirectoryFact =
  | AccountFact
  | { readonly kind: "directory.created"; readonly hashSecret: string }
  | { readonly kind: "project.created"; readonly project: Project }
  | { readonly kind: "key.created"; readonly key: ApiKey }
  | { readonly kind: "key.revoked"; readonly keyId: string }

export type Fact = UserFact | ProjectFact | DirectoryFact

/** The facts of a kind; several kinds may share one shape. */
export type FactOf<Kind extends Fact["kind"]> = Fact extends infer Each
  ? Each extends { readonly kind: infer Own }
    ? Kind extends Own
      ? Each & { readonly kind: Kind }
      : never
    : never
  : never

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

export interface JournalRecord {
  readonly sequence: number
  /** When it was decided, epoch milliseconds. */
  readonly at: number
  readonly subject: Subject
  readonly cause: Cause
  readonly facts: ReadonlyArray<Fact>
  readonly kept?: Kept
}

/** Whether no message may tell of a record: it is imported history, or an award for the past. */
export const isSilent = ({ cause }: JournalRecord): boolean =>
  cause.kind === "event" ? cause.imported === true : cause.kind === "backfill" && !cause.notify

/** The name that makes a repeat of this a duplicate, in a namespace of its kind; `undefined` for none. */
export const duplicateKey = (cause: Cause): string | undefined => {
  switch (cause.kind) {
    case "event":
      return cause.id === undefined ? undefined : `e${cause.id}`
    case "reward":
      return cause.id === undefined ? undefined : `r${cause.id}`
    case "revocation":
      return `v${cause.sequence}`
    default:
      return undefined
  }
}
