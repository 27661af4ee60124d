/**
 * A record is the result of one command: its cause and the decided facts. Each record is one entry
 * of the journal, and `sequence` numbers all records of the data directory.
 *
 * Invariant: a state is the fold of `apply` over records. A record therefore has all data that
 * `apply` and the reply need, and a later change of rules or level curves never changes its effect.
 */
import type { AccountFact } from "../accounts/Account.ts"
import type { Amounts } from "../project/Currency.ts"
import type { Gives, Reward } from "../project/Definition.ts"
import type { ApiKey, Project, ProjectLimit } from "../project/Directory.ts"
import type { DefinitionFact } from "../project/Kinds.ts"
import type { DisabledReason, ProjectSettings, TestClock, Webhook } from "../project/Project.ts"
import type { SourceSecrets } from "../project/Source.ts"
import type { MetricChange, MetricState } from "../user/MetricState.ts"
import type { Profile, StepCounts } from "../user/User.ts"
import type { LaurelError } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import type { ActivityFact } from "./ActivityFact.ts"
import type { BalanceFact, Shortfall, Source } from "./BalanceFact.ts"
import type { BatchAnswer } from "./BatchAnswer.ts"
import type { BoardFact, Disqualification, LeagueDisqualification, RankLook } from "./BoardFact.ts"
import type { BoostFact } from "./BoostFact.ts"
import type { ExperimentFact } from "./ExperimentFact.ts"
import type { GoalFact, GoalNews, GoalPaidFact } from "./GoalFact.ts"
import type { LeagueCloseFact, LeagueFact, LeagueSeat } from "./LeagueFact.ts"
import type { Absorb, Erasing, Merge, MergeEnd, MergeFact } from "./MergeRecord.ts"
import type { Opening, OpeningFact } from "./Opening.ts"
import type { Payment, PrizeFact } from "./Payment.ts"
import type { Purchase, PurchaseFact } from "./Purchase.ts"
import type { ReminderFact } from "./ReminderFact.ts"
import type { StreakFact, StreakPausing } from "./StreakFact.ts"
import type { JoinTeam, LeaveTeam, TeamFact, TeamMembershipFact } from "./TeamFact.ts"
import type { WindowFact } from "./WindowFact.ts"

/**
 * An event of a client: the command to the user's actor, and the cause of its record. Times are
 * epoch milliseconds. A second event with the same `id` of the caller is a duplicate. An event
 * without `occurredAt` occurred when it was decided. Laurel's own id of an event or a reward
 * derives from its record (`recordId`).
 */
export interface TrackedEvent {
  readonly kind: "event"
  readonly id?: string | undefined
  readonly action: string
  readonly occurredAt?: number | undefined
  readonly metadata?: Metadata | undefined
  /** The event is imported history: it may have any age, and causes no messages. */
  readonly imported?: true | undefined
}

/** A reward of a caller, in the form in which it was sent: `type` names a reward of one part. */
export type GrantedReward = {
  readonly kind: "reward"
  readonly id?: string | undefined
  readonly reason?: string | undefined
} & (
  | { readonly reward: Reward }
  | { readonly type: "xp" | "points"; readonly amount: number }
  | { readonly type: "badge"; readonly badgeId: string }
)

/** All parts of a granted reward, whatever its form. */
export const givenBy = (granted: GrantedReward): Gives => {
  if ("reward" in granted) return { ...nothingGiven, ...granted.reward }
  return granted.type === "badge"
    ? { ...nothingGiven, badgeId: granted.badgeId }
    : { ...nothingGiven, [granted.type]: granted.amount }
}

const nothingGiven: Gives = { xp: 0, points: 0, badgeId: null }

/** Spends `amount` points, or amounts of several currencies, all or nothing. */
export type Spending = {
  readonly kind: "spend"
  readonly id?: string | undefined
  readonly reason?: string | undefined
} & (
  | { readonly amount: number; readonly repair?: never }
  | { readonly currencies: Amounts; readonly repair?: string }
)

/**
 * A spend that repairs a streak. A command may name it by its id, and has no price; a cause has its key
 * and the price of that time, which may be nothing.
 */
export type Repairing = Extract<Spending, { readonly currencies: Amounts }> & {
  readonly repair: string
}

export const isRepair = (spending: Spending): spending is Repairing => spending.repair !== undefined

/** The amounts that a spend asks for, by currency. */
export const spentBy = (spending: Spending): Amounts =>
  "currencies" in spending ? spending.currencies : { points: spending.amount }

/** A command that may have an id of the caller. */
export type Named = TrackedEvent | GrantedReward | Spending | Purchase

/**
 * Revokes the event, reward, spend or purchase of the record `sequence`. `at` is the time of the record,
 * which distinguishes reused sequences. A command may also have `ownId`, an id of the caller: if
 * the user has no such record, the command is about what has this id
 * (`referenceOf`). A cause never has it.
 */
export interface Revocation<Of extends Revocable = Revocable> {
  readonly kind: "revocation"
  readonly of: Of
  readonly sequence: number
  readonly at: number
  readonly ownId?: string | undefined
}

export type Revocable = "event" | "reward" | "spend" | "purchase"

/** Changes the members of the profile that `change` has. */
export interface ProfileChange {
  readonly kind: "profile"
  readonly change: Partial<Profile>
}

/** Erases the user. `aliasOf`: only if this is a former id of that user, who is erased as well. */
export interface Erasure {
  readonly kind: "erasure"
  readonly aliasOf?: string
}

/**
 * Awards a badge to a user who already qualifies. For a badge that counts or sums, `counted` is the
 * number or the sum of the matching events in the history up to the record `countedUpTo`.
 */
export interface Backfill {
  readonly kind: "backfill"
  readonly badgeId: string
  readonly counted?: number | undefined
  readonly countedUpTo?: number | undefined
  /** Whether the award sends messages. */
  readonly notify: boolean
}

/**
 * Records the streaks and quests that the clock ended, and a recount of a metric, if one is given:
 * its state up to the user's record `upTo`; null: no event is left.
 */
export interface Tick {
  readonly kind: "tick"
  readonly recount?: {
    readonly metricId: string
    readonly state: MetricState | null
    readonly upTo: number
    /** It also counts records that have no fact of the metric. */
    readonly backfill?: true
  }
}

/** Starts a quest that counts nothing before (`Quest.optIn`). A command may name it by its key. */
export interface QuestStart {
  readonly kind: "start"
  readonly questId: string
}

export type UserCommand =
  | TrackedEvent
  | GrantedReward
  | Spending
  | Purchase
  | Revocation
  | ProfileChange
  | Erasure
  | Backfill
  | QuestStart
  | Opening
  | StreakPausing
  | Disqualification
  | LeagueDisqualification
  | RankLook
  | JoinTeam
  | LeaveTeam
  | Payment
  | Tick
  | Merge
  | Absorb
  | MergeEnd
  | Erasing

/** The cause of a record. */
export type Cause = UserCommand | { readonly kind: "request" }

/** Why a rule gave no reward: its limit was used up, or its cooldown had not passed. */
export const withheldReasons = ["limit", "cooldown"] as const
export type WithheldReason = (typeof withheldReasons)[number]

/** A badge, or a tier of a badge, as facts name it. */
export interface BadgeRef {
  readonly badgeId: string
  readonly key: string
  readonly name: string
  /** Absent: a badge without tiers. */
  readonly tier?: { readonly key: string; readonly name: string }
}

/** A quest as facts name it. */
export interface QuestRef {
  readonly questId: string
  readonly key: string
  readonly title: string
  /** The index of the window of a recurring quest (`Calendar.ts`); 0 for other quests. */
  readonly period: number
}

/**
 * The facts of a user's command. `total`, `xp`, `points` and `level` are the balances after the
 * record.
 */
export type UserFact =
  | { readonly kind: "user.created" }
  /** `moved`: the time zone changed. */
  | {
      readonly kind: "user.updated"
      readonly profile: Profile
      readonly moved?: true
    }
  /**
   * The ids of the user's quests in progress and completed, and the names of the badges and tiers
   * (`heldNames`), which the counts of the environment subtract.
   * `alias`: the id was that of a user who was merged into another, and is not counted. `seats`: the
   * places in cohorts; absent: none. `units`: the units of items that the user had bought; absent: none.
   * `goals`: what the user had contributed to shared goals (`contributionsOf`); absent: nothing.
   */
  | {
      readonly kind: "user.deleted"
      readonly inProgress: ReadonlyArray<string>
      readonly completed: ReadonlyArray<string>
      readonly badges: ReadonlyArray<string>
      /** The numbers of the user's teams, and of those it has kept shares of; absent: none. */
      readonly teams?: ReadonlyArray<number>
      readonly alias?: true
      readonly seats?: ReadonlyArray<LeagueSeat>
      readonly units?: ReadonlyArray<readonly [itemId: string, bought: number]>
      readonly goals?: ReadonlyArray<
        readonly [goalId: string, period: number, team: number, amount: number]
      >
    }
  /**
   * `balances`: the balances of further currencies after the record; absent: the user has none.
   * `matched: false`: no active definition named the action of the event (`namesAction`).
   * `before`: the sequence of the user's reward by request before this one; absent: there is none.
   * `segments`: the keys of the segments that the user was in, of those that the decision asked for
   * (`Membership`). A backfill of a badge with a segment reads them.
   * `day`: the user's local day of the event; absent: that of UTC (`user/ActiveDays.ts`).
   */
  | {
      readonly kind: "event.tracked" | "reward.granted"
      readonly xp: number
      readonly points: number
      readonly level: number
      readonly balances?: Amounts
      readonly matched?: false
      readonly before?: number
      readonly segments?: ReadonlyArray<string>
      readonly day?: number
    }
  /**
   * `shortfall`: the amount that exceeded the balance and could not be revoked. `expired`: what had
   * expired before; absent: nothing.
   */
  | {
      readonly kind: "event.revoked" | "reward.revoked"
      readonly xp: number
      readonly points: number
      readonly level: number
      readonly balances?: Amounts
      readonly shortfall: Shortfall
      readonly expired?: Amounts
    }
  | ActivityFact
  | ReminderFact
  | BalanceFact
  | BoardFact
  | MergeFact
  | BoostFact
  | ExperimentFact
  | OpeningFact
  | LeagueFact
  | PurchaseFact
  | GoalFact
  | { readonly kind: "level.changed"; readonly from: number; readonly to: number }
  /**
   * A use of a rule with a limit or a cooldown, in the `period` of the limit. `times: -1` revokes a
   * use. `since`: the `countedSince` of the rule. `used`: the uses of the period, this one included; present if they were
   * counted in the history.
   */
  | {
      readonly kind: "rule.used"
      readonly ruleId: string
      readonly period: number
      readonly occurredAt: number
      readonly times: 1 | -1
      readonly since?: number
      readonly used?: number
    }
  /** The rule matched the event but gave no reward. */
  | { readonly kind: "rule.withheld"; readonly ruleId: string; readonly reason: WithheldReason }
  /**
   * The new count or sum for a badge. A backfill counts the whole history. `by`: the amount that
   * the event added, if not 1.
   */
  | {
      readonly kind: "badge.counted"
      readonly badgeId: string
      readonly current: number
      readonly by?: number
    }
  /**
   * `target`: the target of the badge when it was earned; absent for a granted badge. `times`: how
   * often the user has a repeatable badge afterwards. `first`: the user had nothing of it before;
   * `last`: and has nothing afterwards.
   */
  | ({
      readonly kind: "badge.earned"
      readonly source: Source
      readonly target?: number
      readonly times?: number
      readonly first?: true
    } & BadgeRef)
  | ({ readonly kind: "badge.revoked"; readonly times?: number; readonly last?: true } & BadgeRef)
  /**
   * How often the badge, or the tier with this key, has paid the user. `by`: what the record added;
   * absent: it took back a payment.
   */
  | {
      readonly kind: "badge.paid"
      readonly badgeId: string
      readonly tier?: string
      readonly paid: number
      readonly by?: number
    }
  /**
   * How often the level with this key of a currency has paid the user. `by`: what the record added;
   * absent: it took back a payment.
   */
  | {
      readonly kind: "level.paid"
      readonly currency: string
      readonly level: string
      readonly paid: number
      readonly by?: number
    }
  | ({ readonly kind: "metric.changed" } & MetricChange)
  /** `joined`: the user started it by request. */
  | ({ readonly kind: "quest.started"; readonly joined?: true } & QuestRef)
  | ({
      readonly kind: "quest.progressed"
      readonly step: string
      readonly current: number
      readonly target: number
      /** The amount that the event added, if not 1. */
      readonly by?: number
      /** The completed share of the whole quest, 0 to 1. */
      readonly progress: number
    } & QuestRef)
  /**
   * `times`: the user's completions, this one included. `claimable`: it has not paid, and waits to be
   * claimed.
   */
  | ({
      readonly kind: "quest.completed"
      readonly times: number
      readonly claimable?: true
    } & QuestRef)
  /** A `QUEST_COMPLETE` event claimed the completed quest, which pays. */
  | ({ readonly kind: "quest.claimed" } & QuestRef)
  /**
   * The claim was revoked. `claimable`: the quest is still completed, and can be claimed again.
   * `alsoPaid`: another claim has paid, and so many besides.
   */
  | ({
      readonly kind: "quest.claim_revoked"
      readonly claimable?: true
      readonly alsoPaid?: number
    } & QuestRef)
  /**
   * A `QUEST_COMPLETE` event named a quest that the user had already completed. It earned nothing.
   */
  | ({ readonly kind: "quest.repeated" } & QuestRef)
  /** `claim_lapsed`: it was completed, and nobody claimed it in its period. */
  | ({ readonly kind: "quest.expired" | "quest.claim_lapsed" } & QuestRef)
  /**
   * A step or a completion was revoked. `steps`, `times` and `also` are the remaining counts; `from`
   * and `to` are the statuses. `startedAt`: the event that started the quest was revoked, and it started
   * with a later one.
   */
  | ({
      readonly kind: "quest.reverted"
      readonly from: "in_progress" | "completed" | "expired"
      readonly to: "not_started" | "in_progress" | "completed" | "expired"
      /** The remaining completed share, 0 to 1. */
      readonly progress: number
      readonly steps: StepCounts
      readonly times: number
      readonly also?: number
      readonly startedAt?: number
    } & QuestRef)
  | StreakFact
  | TeamMembershipFact
  | PrizeFact

/** The facts of a request to an environment. */
export type ProjectFact =
  | DefinitionFact
  | TeamFact
  | { readonly kind: "project.updated"; readonly settings: ProjectSettings }
  | ({ readonly kind: "testClock.moved" } & TestClock)
  | { readonly kind: "webhook.created"; readonly webhook: Omit<Webhook, "since"> }
  | { readonly kind: "webhook.updated"; readonly webhook: Webhook }
  | {
      readonly kind: "source.secret_set"
      readonly sourceId: string
      readonly secrets: SourceSecrets
    }
  | { readonly kind: "webhook.deleted" | "webhook.tested"; readonly webhookId: string }
  /** Laurel disabled the webhook by itself. */
  | {
      readonly kind: "webhook.disabled"
      readonly webhookId: string
      readonly description: string | null
      readonly reason: Exclude<DisabledReason, "manual">
    }
  /** Sends the message of the fact at `index` of the record `sequence` once more. */
  | {
      readonly kind: "webhook.redelivered"
      readonly webhookId: string
      readonly sequence: number
      readonly at: number
      readonly index: number
    }
  /** Sends all failed and missed messages since `since`. */
  | { readonly kind: "webhook.recovered"; readonly webhookId: string; readonly since: number }
  | WindowFact
  | LeagueCloseFact
  | GoalNews
  | GoalPaidFact
  /** The definition is a badge or a metric. */
  | { readonly kind: "backfill.started"; readonly definitionId: string; readonly notify: boolean }
  | {
      readonly kind: "backfill.finished"
      readonly definitionId: string
      readonly checked: number
      readonly awarded: number
    }
  /** A finished batch, which is kept for its Idempotency-Key. */
  | { readonly kind: "batch.answered"; readonly answer: BatchAnswer }

export type DirectoryFact =
  | AccountFact
  | { readonly kind: "directory.created"; readonly hashSecret: string }
  | { readonly kind: "partition.begun"; readonly partition: number }
  | { readonly kind: "project.created"; readonly project: Project }
  | { readonly kind: "project.renamed"; readonly projectId: string; readonly name: string }
  | { readonly kind: "project.archived" | "project.unarchived"; readonly projectId: string }
  | { readonly kind: "project.limited"; readonly projectId: string; readonly limit: ProjectLimit }
  /** All projects moved to the first partition, because their data has left the cluster. */
  | { readonly kind: "projects.gathered" }
  | { readonly kind: "key.created"; readonly key: ApiKey }
  | { readonly kind: "key.revoked"; readonly keyId: string }
  /** `key` replaces the key `keyId`, which expires at `expiresAt` unless it ends earlier. */
  | {
      readonly kind: "key.rotated"
      readonly keyId: string
      readonly expiresAt: number
      readonly key: ApiKey
    }
  /** For each key, the time of its last request. */
  | {
      readonly kind: "keys.used"
      readonly used: ReadonlyArray<readonly [keyId: string, at: number]>
    }

export type Fact = UserFact | ProjectFact | DirectoryFact

/** The facts of a kind; several kinds may share one shape. */
export type FactOf<Kind extends Fact["kind"]> = Fact extends infer Each
  ? Each extends { readonly kind: infer Own }
    ? Kind extends Own
      ? Each & { readonly kind: Kind }
      : never
    : never
  : never

/** A kept Idempotency-Key. A repeat of the request gets the reply of the record, or `error`. */
export interface Kept {
  readonly key: string
  readonly fingerprint: string
  readonly error?: LaurelError
}

/** The actor of a record: a user, an environment's project actor, or the directory. */
export type Subject =
  | { readonly actor: "user"; readonly environment: string; readonly userId: string }
  | { readonly actor: "project"; readonly environment: string }
  | { readonly actor: "directory" }

export interface JournalRecord {
  readonly sequence: number
  /**
   * The server's time of the decision, epoch milliseconds. All records of a journal are in its
   * order.
   */
  readonly at: number
  /** How far the environment's time was ahead of `at`; absent: not at all (`decidedAt`). */
  readonly aheadMs?: number
  readonly subject: Subject
  readonly cause: Cause
  readonly facts: ReadonlyArray<Fact>
  readonly kept?: Kept
  /**
   * The sampled trace of the request: the ids of the trace and of the caller's span, as `<32
   * hex>-<16 hex>`.
   */
  readonly trace?: string
}

/**
 * The environment's time of the decision, epoch milliseconds. It dates all that concerns users and
 * definitions. `at` dates what belongs to the server: ids of records, retention, deliveries.
 */
export const decidedAt = ({ aheadMs = 0, at }: JournalRecord): number => at + aheadMs

/** Whether the record sends no messages: it is imported history or a silent backfill. */
export const isSilent = ({ cause }: JournalRecord): boolean =>
  cause.kind === "event" ? cause.imported === true : cause.kind === "backfill" && !cause.notify

/** The deduplication key of a command, with a prefix for its kind; `undefined` if it has none. */
export const duplicateKey = (cause: Cause): string | undefined => {
  switch (cause.kind) {
    case "event":
    case "reward":
    case "spend":
    case "purchase":
      return cause.id === undefined ? undefined : ownIdKey(cause.kind, cause.id)
    case "revocation":
      return revocationKey(cause.sequence)
    case "opening":
      return openingKey
    case "payment":
      return paymentKey(cause)
    default:
      return undefined
  }
}

/** The deduplication key of a user's opening balances: a user has them once. */
const openingKey = "o"

/** The deduplication key of a payment: a user gets each payout once. */
const paymentKey = ({ payout, to }: Payment): string => `p${payout} ${to}`

/** The deduplication key of the revocation of the record with this sequence. */
export const revocationKey = (sequence: number): string => `v${sequence}`

/** The deduplication key of an event, reward, spend or purchase with this id of the caller. */
export const ownIdKey = (kind: Revocable, id: string): string => `${keyPrefix[kind]}${id}`

const keyPrefix = { event: "e", reward: "r", spend: "s", purchase: "p" } as const
