// Printed by `npm run client:generate` from the declaration in src/http/api. Do not edit.
import type { CallOptions, KeyedCallOptions } from "../CallOptions.ts"

/** The codes of problems that a server replies with. */
export type ProblemCode =
  | "invalid_json"
  | "invalid_request"
  | "malformed_request"
  | "unauthorized"
  | "insufficient_scope"
  | "address_not_allowed"
  | "origin_not_allowed"
  | "insufficient_role"
  | "confirmation_required"
  | "not_found"
  | "user_not_found"
  | "quest_not_found"
  | "badge_not_found"
  | "event_not_found"
  | "reward_not_found"
  | "spend_not_found"
  | "rule_not_found"
  | "webhook_not_found"
  | "delivery_not_found"
  | "backfill_not_found"
  | "project_not_found"
  | "key_not_found"
  | "account_not_found"
  | "invitation_not_found"
  | "passkey_not_found"
  | "session_not_found"
  | "method_not_allowed"
  | "request_timeout"
  | "conflict"
  | "quest_not_active"
  | "quest_incomplete"
  | "quest_locked"
  | "invalid_transition"
  | "webhook_disabled"
  | "insufficient_points"
  | "balance_overflow"
  | "in_use"
  | "quota_exceeded"
  | "idempotency_in_progress"
  | "gone"
  | "body_too_large"
  | "batch_too_large"
  | "unsupported_media_type"
  | "misdirected_request"
  | "idempotency_key_reused"
  | "rate_limited"
  | "headers_too_large"
  | "internal_error"
  | "transfer_coding_not_supported"
  | "overloaded"
  | "storage_unavailable"
  | "starting"
  | "shutting_down"
  | "http_version_not_supported"

/** The operations of the API. */
export interface Operations {
  readonly events: {
    /** Track an event */
    track(body: Event, options?: KeyedCallOptions): Promise<EventOutcome>
    /** Track many events */
    trackBatch(body: Batch, options?: KeyedCallOptions): Promise<BatchReply>
    /** Import history */
    importBatch(body: Batch, options?: KeyedCallOptions): Promise<BatchReply>
  }
  readonly actions: {
    /** List actions seen */
    list(options?: CallOptions): Promise<ActionsSeen>
  }
  readonly users: {
    /** List users */
    list(query?: {
      /** Maximum number of items. */
      readonly limit?: number
      /** Number of items to skip. */
      readonly offset?: number
      /** Only users with this text in their id or display name, ignoring case. */
      readonly query?: string
    }, options?: CallOptions): Promise<UserPage>
    /** Read a user */
    get(id: string, options?: CallOptions): Promise<User>
    /** Create or change a user */
    put(id: string, body: ProfileChange, options?: CallOptions): Promise<User>
    /** Erase a user */
    erase(id: string, options?: CallOptions): Promise<void>
    /** Read a user's progress */
    progress(id: string, options?: CallOptions): Promise<Progress>
    /** Read a user's history */
    history(id: string, query?: {
      /** Maximum number of items. */
      readonly limit?: number
      /** The `nextCursor` of the page before. */
      readonly cursor?: string
      /** Only facts of this kind. */
      readonly kind?: "event.tracked" | "event.revoked" | "reward.granted" | "reward.revoked" | "xp.earned" | "xp.revoked" | "points.earned" | "points.revoked" | "points.spent" | "points.refunded" | "level.changed" | "badge.earned" | "badge.revoked" | "quest.started" | "quest.progressed" | "quest.completed" | "quest.repeated" | "quest.reverted" | "quest.expired" | "streak.extended" | "streak.counted" | "streak.broken" | "user.created" | "user.updated"
    }, options?: CallOptions): Promise<HistoryPage>
    /** Export a user */
    export(id: string, options?: CallOptions): Promise<UserExport>
    /** Make a token for a user */
    createToken(id: string, body?: TokenRequest, options?: CallOptions): Promise<UserToken>
    /** Grant a reward */
    reward(id: string, body: RewardGrant, options?: KeyedCallOptions): Promise<RewardOutcome>
    /** Spend points */
    spend(id: string, body: NewSpend, options?: KeyedCallOptions): Promise<Spend>
    /** Revoke a spend */
    refund(id: string, spendId: string, options?: CallOptions): Promise<Refund>
    /** Revoke a reward */
    revokeReward(id: string, rewardId: string, options?: CallOptions): Promise<RewardRevocation>
    /** Revoke an event */
    revokeEvent(id: string, eventId: string, options?: CallOptions): Promise<EventRevocation>
  }
  readonly quests: {
    /** Create a quest */
    create(body: NewQuest, options?: KeyedCallOptions): Promise<Quest>
    /** List quests */
    list(query?: {
      /** Only quests with this status. Default: all except archived ones. */
      readonly status?: "draft" | "scheduled" | "active" | "paused" | "ended" | "archived"
      /** Maximum number of items. */
      readonly limit?: number
      /** Number of items to skip. */
      readonly offset?: number
    }, options?: CallOptions): Promise<QuestPage>
    /** Read a quest */
    get(id: string, options?: CallOptions): Promise<CountedQuest>
    /** Change a quest */
    update(id: string, body: QuestPatch, options?: CallOptions): Promise<Quest>
    /** Archive a quest */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  readonly leaderboard: {
    /** Read the leaderboard */
    get(query?: {
      /** `all_time`, or the xp of one day, ISO week or month in the project's time zone. */
      readonly window?: "all_time" | "daily" | "weekly" | "monthly"
      /** Reads the window of this date (in the project's time zone) or time. Past windows are frozen and kept for 31 days, 12 weeks and 12 months; a window without xp is empty. Default: the current window. */
      readonly at?: string
      /** Centres the page on this user, instead of `offset`. For a user who is not listed, returns the first page with `me: null`. Not with a publishable key. */
      readonly around?: string
      /** Maximum number of items. */
      readonly limit?: number
      /** Number of items to skip. */
      readonly offset?: number
    }, options?: CallOptions): Promise<LeaderboardPage>
  }
  readonly rules: {
    /** Create a rule */
    create(body: NewRule, options?: KeyedCallOptions): Promise<Rule>
    /** List rules */
    list(query?: {
      /** Maximum number of items. */
      readonly limit?: number
      /** Number of items to skip. */
      readonly offset?: number
    }, options?: CallOptions): Promise<RulePage>
    /** Read a rule */
    get(id: string, options?: CallOptions): Promise<Rule>
    /** Change a rule */
    update(id: string, body: RulePatch, options?: CallOptions): Promise<Rule>
    /** Delete a rule */
    delete(id: string, options?: CallOptions): Promise<void>
  }
  readonly badges: {
    /** Create a badge */
    create(body: NewBadge, options?: KeyedCallOptions): Promise<Badge>
    /** List badges */
    list(query?: {
      /** `true`: list archived badges instead of active ones. */
      readonly archived?: "true" | "false"
      /** Maximum number of items. */
      readonly limit?: number
      /** Number of items to skip. */
      readonly offset?: number
    }, options?: CallOptions): Promise<BadgePage>
    /** Read a badge */
    get(id: string, options?: CallOptions): Promise<Badge>
    /** Change a badge */
    update(id: string, body: BadgePatch, options?: CallOptions): Promise<Badge>
    /** Archive a badge */
    delete(id: string, options?: CallOptions): Promise<void>
    /** Award a badge for the past */
    startBackfill(id: string, body?: BackfillRequest, options?: KeyedCallOptions): Promise<StartedBackfill>
    /** Read a backfill */
    getBackfill(id: string, options?: CallOptions): Promise<Backfill>
  }
  readonly project: {
    /** Read the project */
    get(options?: CallOptions): Promise<Project>
    /** Change the project */
    update(body: ProjectPatch, options?: CallOptions): Promise<Project>
    /** Simulate an event */
    simulate(body: Event, options?: CallOptions): Promise<Simulation>
    /** Simulate an event with drafts */
    preview(body: PreviewRequest, options?: CallOptions): Promise<Simulation>
  }
  readonly definitions: {
    /** Export definitions */
    export(options?: CallOptions): Promise<DefinitionsFile>
    /** Compare definitions with a file */
    diff(body: ApplyDefinitions, options?: CallOptions): Promise<DefinitionsDiff>
    /** Apply a file of definitions */
    apply(body: ApplyDefinitions, options?: KeyedCallOptions): Promise<AppliedDefinitions>
  }
  readonly webhooks: {
    /** Register a webhook */
    create(body: NewWebhook, options?: KeyedCallOptions): Promise<CreatedWebhook>
    /** List webhooks */
    list(query?: {
      /** Maximum number of items. */
      readonly limit?: number
      /** Number of items to skip. */
      readonly offset?: number
    }, options?: CallOptions): Promise<WebhookPage>
    /** Get a webhook */
    get(id: string, options?: CallOptions): Promise<CountedWebhook>
    /** Change a webhook */
    update(id: string, body: WebhookPatch, options?: CallOptions): Promise<Webhook>
    /** Delete a webhook */
    delete(id: string, options?: CallOptions): Promise<void>
    /** Replace the secret */
    rotateSecret(id: string, body?: Rotation, options?: KeyedCallOptions): Promise<RotatedSecret>
    /** Send a test */
    test(id: string, options?: KeyedCallOptions): Promise<Sent>
    /** Recover missed messages */
    recover(id: string, body: RecoveryRequest, options?: KeyedCallOptions): Promise<Recovery>
    /** List deliveries */
    deliveries(id: string, query?: {
      /** Only deliveries with this status. */
      readonly status?: "pending" | "succeeded" | "failed" | "dropped"
      /** The `nextCursor` of the page before. */
      readonly cursor?: string
      /** Maximum number of items. */
      readonly limit?: number
    }, options?: CallOptions): Promise<DeliveryPage>
    /** Get a delivery */
    delivery(id: string, deliveryId: string, options?: CallOptions): Promise<DeliveryDetails>
    /** Redeliver a message */
    redeliver(id: string, deliveryId: string, options?: KeyedCallOptions): Promise<Sent>
    /** List message kinds */
    catalogue(options?: CallOptions): Promise<MessageCatalogue>
  }
}

/** What a stream may be asked for. */
export interface StreamQuery {
  /** Messages to send: kinds, families (`quest.*`) or all (`*`), separated by commas. */
  readonly events?: string
  /** Only messages about this user, who may be one that does not exist yet. Default: all messages of the environment; with a user token, those about its user. */
  readonly userId?: string
}

/** The events of an action. */
export interface ActionSeen {
  /** Action of the user. */
  readonly action: string
  /** Number of events accepted, without duplicates. Undone events and those of erased users stay counted. */
  readonly count: number
  /** When the last event was received. */
  readonly lastReceivedAt: string
  /** Whether an enabled rule, a published quest, a badge or the `actions` of a streak name the action now. `QUEST_COMPLETE` is always known. */
  readonly matched: boolean
}

/** The actions of an environment's events. */
export interface ActionsSeen {
  /** The last received first. */
  readonly actions: ReadonlyArray<ActionSeen>
  /** The events of all further actions, together. */
  readonly others: {
    /** Number of events accepted, without duplicates. Undone events and those of erased users stay counted. */
    readonly count: number
    /** When the last event was received; null: none was. */
    readonly lastReceivedAt: string | null
  }
}

/** The changes made, all in one record; none where all was equal. */
export interface AppliedDefinitions {
  /** Number of new definitions. */
  readonly created: number
  /** Number of changed definitions. */
  readonly updated: number
  /** Number of removed definitions. */
  readonly deleted: number
  /** In the order of effect. */
  readonly changes: ReadonlyArray<{
    /** `delete`: a rule is deleted, a badge or a quest archived. */
    readonly op: "create" | "update" | "delete"
    /** The kind of definition. */
    readonly kind: "settings" | "badge" | "quest" | "rule"
    /** The id; null for settings. */
    readonly id: string | null
    /** The badge's name, the quest's title, the rule's action; the id of a deleted rule. */
    readonly name: string
  }>
}

export interface ApplyDefinitions {
  readonly definitions: DefinitionsFile
  /** Whether definitions that the file does not name are removed, of the kinds that it has: rules and streaks deleted, quests and badges archived. Default `false`. */
  readonly delete?: boolean
}

/** The award of a badge to users who already qualify. */
export interface Backfill {
  /** The badge's id. */
  readonly badgeId: string
  /** Whether webhooks and streams report the awarded badges. */
  readonly notify: boolean
  /** Start of the backfill. */
  readonly startedAt: string
  /** `waiting`: another backfill runs first. */
  readonly status: "waiting" | "running" | "finished"
  /** Number of users checked. */
  readonly checked: number
  /** Number of users to check. */
  readonly total: number
  /** Number of users awarded. A server restart restarts the backfill, and earlier awards are not counted again. */
  readonly awarded: number
  /** End of the backfill; null: not finished. */
  readonly finishedAt: string | null
}

export interface BackfillRequest {
  /** Whether webhooks and streams report the awarded badges. Default `false`. */
  readonly notify?: boolean
}

/** A badge, which a user can earn once. */
export interface Badge {
  /** Laurel's id of the badge. */
  readonly id: string
  /** Name for people. */
  readonly name: string
  /** Description for people. */
  readonly description: string | null
  /** URL, emoji or any text for your app. */
  readonly icon: string | null
  readonly criteria: Criteria
  /** Whether users see the badge only once earned. */
  readonly secret: boolean
  /** Whether the badge is archived: users no longer earn it, and owners keep it. */
  readonly archived: boolean
  /** ISO 8601, UTC, with milliseconds. */
  readonly createdAt: string
  /** ISO 8601, UTC, with milliseconds. */
  readonly updatedAt: string
}

export interface BadgeGrant {
  readonly type: "badge"
  /** Laurel's id of an active badge. */
  readonly badgeId: string
  /** Reason, kept in the user's history. */
  readonly reason?: string
  /** Your id of this event or reward. Repeating an id of the same user changes nothing and returns the first outcome. */
  readonly id?: string
}

/** A page of the badges. */
export interface BadgePage {
  /** In the order of creation. */
  readonly badges: ReadonlyArray<Badge>
  /** Number of items on all pages. */
  readonly total: number
  /** Maximum number of items on this page. */
  readonly limit: number
  /** Number of items before this page. */
  readonly offset: number
  /** Whether more items follow this page. */
  readonly hasMore: boolean
}

export interface BadgePatch {
  /** Name for people. */
  readonly name?: string
  readonly criteria?: CriteriaPatch
  /** Description for people. */
  readonly description?: string | null
  /** URL, emoji or any text for your app. */
  readonly icon?: string | null
  /** Whether users see the badge only once earned. Default `false`. */
  readonly secret?: boolean | null
}

/** Progress towards a badge. */
export interface BadgeProgress {
  /** The badge's id. */
  readonly id: string
  /** The badge's name. */
  readonly name: string
  /** Current count, at most `target`. */
  readonly current: number
  /** 1 for a badge without criteria. */
  readonly target: number
  /** Null: not earned. */
  readonly earnedAt: string | null
}

export interface Batch {
  /** The events of each user are applied in this order. */
  readonly events: ReadonlyArray<Event>
}

/** The durable outcome of a batch. */
export interface BatchOutcome {
  /** Number of events applied. */
  readonly accepted: number
  /** Number of events with the `id` of an earlier event. */
  readonly duplicates: number
  /** Number of events refused. */
  readonly rejected: number
  /** The outcome of each event, in the order of the request. */
  readonly results: ReadonlyArray<EventOutcome | EventRefusal>
}

/** The outcome of each event, or counts and refusals alone. */
export type BatchReply = BatchOutcome | BatchSummary

/** The durable outcome of a batch with `Prefer: return=minimal`. */
export interface BatchSummary {
  /** Number of events applied. */
  readonly accepted: number
  /** Number of events with the `id` of an earlier event. */
  readonly duplicates: number
  /** Number of events refused. */
  readonly rejected: number
  /** The refused events, in the order of the request. */
  readonly refusals: ReadonlyArray<{
    /** Place of the event in the request, from 0. */
    readonly index: number
    /** The HTTP status for the event, sent alone. */
    readonly status: number
    /** The error code, as in a problem. */
    readonly code: string
    /** Explanation for people. */
    readonly detail: string
    /** All faults of an invalid event. */
    readonly errors: ReadonlyArray<Fault>
  }>
}

/** A backfill awarded the badge. */
export interface CauseBackfill {
  readonly kind: "backfill"
  /** The badge's id. */
  readonly badgeId: string
}

export interface CauseEvent {
  readonly kind: "event"
  /** Laurel's id of the event. */
  readonly eventId: string
  /** Your id; null: none. */
  readonly id: string | null
  /** Action of the user. */
  readonly action: string
  /** ISO 8601, UTC, with milliseconds. */
  readonly occurredAt: string
  /** The event's metadata. */
  readonly metadata: Readonly<Record<string, unknown>> | null
  /** Whether the event was imported. */
  readonly imported: boolean
}

/** `profile`: a change of the profile. `clock`: the passage of time. */
export interface CauseOther {
  /** The other cause. */
  readonly kind: "profile" | "clock"
}

export interface CauseRevocation {
  readonly kind: "revocation"
  /** Id of the revoked event. */
  readonly eventId: string | null
  /** Id of the revoked reward. */
  readonly rewardId: string | null
  /** Id of the revoked spend. */
  readonly spendId: string | null
}

export interface CauseReward {
  readonly kind: "reward"
  /** Laurel's id of the reward. */
  readonly rewardId: string
  /** Your id; null: none. */
  readonly id: string | null
  /** Kind of reward. */
  readonly type: "xp" | "points" | "badge"
  /** Amount granted; null for a badge. */
  readonly amount: number | null
  /** Id of the badge granted; null for xp and points. */
  readonly badgeId: string | null
  /** The reason sent with the reward. */
  readonly reason: string | null
}

export interface CauseSpend {
  readonly kind: "spend"
  /** Laurel's id of the spend. */
  readonly spendId: string
  /** Your id; null: none. */
  readonly id: string | null
  /** Points spent. */
  readonly amount: number
  /** The reason sent with the spend. */
  readonly reason: string | null
}

/** A condition on an event's metadata. If the path has no value, only `ne` and `exists: false` hold. */
export interface Condition {
  /** A dotted path inside the metadata: `amount`, `cart.total`, `items.0.price`. */
  readonly path: string
  /** `gt`, `gte`, `lt`, `lte` compare numbers by size and texts by character; `in`: one of a list; `exists`: whether the path has a value; `contains`: a text or list contains the value. All definitions of one action share at most 200 different `contains` conditions. */
  readonly op: "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in" | "exists" | "contains"
  /** Value to compare with: a text, number, boolean or null; for `in` a list of these; for `exists` true (default) or false. */
  readonly value?: string | number | boolean | null | ReadonlyArray<string | number | boolean | null>
}

/** A quest with its number of participants. */
export interface CountedQuest {
  /** Laurel's id of the quest. */
  readonly id: string
  /** Name for people. */
  readonly title: string
  /** Description for people. */
  readonly description: string | null
  /** `draft` → `scheduled` → `active` ⇄ `paused` → `ended` → `archived`. `scheduled`, `active` and `ended` follow the clock. */
  readonly status: "draft" | "scheduled" | "active" | "paused" | "ended" | "archived"
  readonly reward: Reward
  /** The quest completes with its last step. */
  readonly steps: ReadonlyArray<QuestStep>
  /** Start of the quest; null: when it is published. */
  readonly startsAt: string | null
  /** End of the quest; null: never. */
  readonly endsAt: string | null
  /** Whether the quest restarts each day, ISO week or month. */
  readonly recurrence: "none" | "daily" | "weekly" | "monthly"
  /** Ids of quests that a user must complete first. */
  readonly prerequisites: ReadonlyArray<string>
  /** Your own metadata. */
  readonly metadata: Readonly<Record<string, unknown>>
  /** ISO 8601, UTC, with milliseconds. */
  readonly createdAt: string
  /** ISO 8601, UTC, with milliseconds. */
  readonly updatedAt: string
  readonly counts: QuestCounts
}

/** A webhook with its delivery counts. */
export interface CountedWebhook {
  /** The webhook's id. */
  readonly id: string
  /** URL of the receiver. */
  readonly url: string
  /** Messages to send: kinds, families or all. */
  readonly events: ReadonlyArray<string>
  /** Description for people. */
  readonly description: string | null
  /** Whether messages are sent. */
  readonly status: "enabled" | "disabled"
  /** `gone`: the receiver answered 410. `failing`: five days of failures only. `manual`: disabled through the API. */
  readonly disabledReason: "gone" | "failing" | "manual" | null
  /** ISO 8601, UTC, with milliseconds. */
  readonly disabledAt: string | null
  /** ISO 8601, UTC, with milliseconds. */
  readonly createdAt: string
  /** ISO 8601, UTC, with milliseconds. */
  readonly updatedAt: string
  readonly deliveries: DeliveryCounts
  /** Start of the last successful attempt; null: none. */
  readonly lastSuccessAt: string | null
  /** Whether attempts have failed and none has succeeded since; false again after a new URL or enabling. */
  readonly failing: boolean
}

/** The webhook, with its secret. */
export interface CreatedWebhook {
  /** The webhook's id. */
  readonly id: string
  /** URL of the receiver. */
  readonly url: string
  /** Messages to send: kinds, families or all. */
  readonly events: ReadonlyArray<string>
  /** Description for people. */
  readonly description: string | null
  /** Whether messages are sent. */
  readonly status: "enabled" | "disabled"
  /** `gone`: the receiver answered 410. `failing`: five days of failures only. `manual`: disabled through the API. */
  readonly disabledReason: "gone" | "failing" | "manual" | null
  /** ISO 8601, UTC, with milliseconds. */
  readonly disabledAt: string | null
  /** ISO 8601, UTC, with milliseconds. */
  readonly createdAt: string
  /** ISO 8601, UTC, with milliseconds. */
  readonly updatedAt: string
  /** Signing secret (`whsec_…`), shown only once. */
  readonly secret: string
}

/** The badge's criteria. */
export type Criteria = {
  /** A balance or count of the user. */
  readonly kind: "xp" | "level" | "points" | "quest_count"
  /** The number at which the badge is earned. */
  readonly target: number
} | {
  /** Number of matching events. */
  readonly kind: "action_count"
  /** The number at which the badge is earned. */
  readonly target: number
  /** Action of the user. */
  readonly action: string
  /** Conditions on the metadata; all must hold. */
  readonly where: ReadonlyArray<Condition>
} | {
  /** Sum of a number in the metadata of matching events. */
  readonly kind: "action_sum"
  /** The number at which the badge is earned. */
  readonly target: number
  /** Action of the user. */
  readonly action: string
  /** Conditions on the metadata; all must hold. */
  readonly where: ReadonlyArray<Condition>
  /** The path to a number in the metadata, to sum instead of counting events. Numbers up to 1000000000 add up exactly, rounded to 4 decimals; an event without a number above 0 there does not count. The target is at most 1000000000; the sum stops at 2000000000. */
  readonly sumPath: string
} | {
  /** Days of a streak. */
  readonly kind: "streak"
  /** The number at which the badge is earned. */
  readonly target: number
  /** The key of a streak; null: any. */
  readonly streak: string | null
} | {
  /** Given by rules, quests and rewards only. */
  readonly kind: "manual"
}

/** Changing `kind` replaces all criteria, so send everything that the new kind requires. */
export interface CriteriaPatch {
  /** The number that earns the badge: the user's `xp` or `level`; `points`: points earned, spent ones included; `action_count`: events with an action; `action_sum`: the sum of a number in their metadata; `quest_count`: completed quests; `streak`: days of a streak; `manual`: none, only rules, quests and rewards give it. */
  readonly kind?: "xp" | "level" | "points" | "action_count" | "action_sum" | "quest_count" | "streak" | "manual"
  /** The number at which the badge is earned; required unless the kind is `manual`. */
  readonly target?: number
  /** Action of the user. */
  readonly action?: string
  /** Conditions on the metadata; all must hold. Default: none. */
  readonly where?: ReadonlyArray<Condition> | null
  /** The path to the number to sum; only for the kind `action_sum`, and required there. */
  readonly sumPath?: string
  /** The key of a streak; only for the kind `streak`. Default: any streak. */
  readonly streak?: string | null
}

/** The changes that applying the file would make now. */
export interface DefinitionsDiff {
  /** Number of new definitions. */
  readonly created: number
  /** Number of changed definitions. */
  readonly updated: number
  /** Number of removed definitions. */
  readonly deleted: number
  /** In the order of effect. */
  readonly changes: ReadonlyArray<{
    /** `delete`: a rule is deleted, a badge or a quest archived. */
    readonly op: "create" | "update" | "delete"
    /** The kind of definition. */
    readonly kind: "settings" | "badge" | "quest" | "rule"
    /** The id; null for settings. */
    readonly id: string | null
    /** The badge's name, the quest's title, the rule's action; the id of a deleted rule. */
    readonly name: string
    /** The members that differ. */
    readonly members: ReadonlyArray<{
      /** The member. */
      readonly name: string
      /** Its JSON, as in a file; null: absent. */
      readonly before: string | null
      /** Its JSON, as in a file; null: absent. */
      readonly after: string | null
    }>
  }>
}

/** Definitions of an environment. Members with their default are left out; archived badges, archived quests and quests that are over are not part of it. */
export interface DefinitionsFile {
  readonly settings?: ProjectPatch
  /** The badges; each replaces every member of the one with its id. Absent: they stay as they are. */
  readonly badges?: ReadonlyArray<FileBadge>
  /** The quests; each replaces every member of the one with its id. Absent: they stay as they are. */
  readonly quests?: ReadonlyArray<FileQuest>
  /** The rules; each replaces every member of the one with its id. Absent: they stay as they are. */
  readonly rules?: ReadonlyArray<FileRule>
}

/** One message to one webhook. */
export interface Delivery {
  /** The delivery's id. */
  readonly id: string
  /** The message's id, sent as `webhook-id`. */
  readonly messageId: string
  /** The kind of message. */
  readonly type: "event.tracked" | "xp.earned" | "xp.revoked" | "points.earned" | "points.revoked" | "points.spent" | "points.refunded" | "level.changed" | "badge.earned" | "badge.revoked" | "streak.extended" | "streak.broken" | "quest.started" | "quest.progressed" | "quest.completed" | "quest.expired" | "quest.created" | "quest.updated" | "reward.granted" | "reward.revoked" | "leaderboard.window_closed" | "user.created" | "user.deleted" | "webhook.disabled" | "webhook.test"
  /** `pending`: waiting for an attempt. `failed`: given up after the last attempt. `dropped`: discarded unsent. */
  readonly status: "pending" | "succeeded" | "failed" | "dropped"
  /** Number of attempts. */
  readonly attempts: number
  /** Due time of the next attempt; null: none. */
  readonly nextAttemptAt: string | null
  /** The outcome of the last attempt; null: none yet. */
  readonly lastResponse: DeliveryResponse | null
  /** `erased`: the user was erased. `expired`: the delivery waited too long. `gone`: the journal no longer has the message. */
  readonly dropReason: "erased" | "expired" | "gone" | null
  /** Time of the message's event. */
  readonly createdAt: string
}

/** The outcome of an attempt. */
export interface DeliveryAttempt {
  /** Start of the attempt. */
  readonly at: string
  /** Duration in milliseconds. */
  readonly durationMs: number
  /** The HTTP status; null: no response. */
  readonly status: number | null
  /** Reason for no response: `address_refused` (the name is unknown, or leads to no address that webhooks may reach: see `LAUREL_WEBHOOK_ALLOW_CIDR`), `connection_failed`, `connection_refused`, `connection_reset`, `dns_failure`, `invalid_response`, `timeout`, `tls_failure`. */
  readonly error: string | null
  /** The first KiB of the response. */
  readonly body: string
}

/** Number of deliveries per status. */
export interface DeliveryCounts {
  /** Deliveries waiting for an attempt. */
  readonly pending: number
  /** Successful deliveries. */
  readonly succeeded: number
  /** Deliveries given up after the last attempt. */
  readonly failed: number
  /** Deliveries not sent: too many were pending, they waited too long, or their user was erased. */
  readonly dropped: number
}

/** A delivery with its attempts. */
export interface DeliveryDetails {
  /** The delivery's id. */
  readonly id: string
  /** The message's id, sent as `webhook-id`. */
  readonly messageId: string
  /** The kind of message. */
  readonly type: "event.tracked" | "xp.earned" | "xp.revoked" | "points.earned" | "points.revoked" | "points.spent" | "points.refunded" | "level.changed" | "badge.earned" | "badge.revoked" | "streak.extended" | "streak.broken" | "quest.started" | "quest.progressed" | "quest.completed" | "quest.expired" | "quest.created" | "quest.updated" | "reward.granted" | "reward.revoked" | "leaderboard.window_closed" | "user.created" | "user.deleted" | "webhook.disabled" | "webhook.test"
  /** `pending`: waiting for an attempt. `failed`: given up after the last attempt. `dropped`: discarded unsent. */
  readonly status: "pending" | "succeeded" | "failed" | "dropped"
  /** Number of attempts. */
  readonly attempts: number
  /** Due time of the next attempt; null: none. */
  readonly nextAttemptAt: string | null
  /** The outcome of the last attempt; null: none yet. */
  readonly lastResponse: DeliveryResponse | null
  /** `erased`: the user was erased. `expired`: the delivery waited too long. `gone`: the journal no longer has the message. */
  readonly dropReason: "erased" | "expired" | "gone" | null
  /** Time of the message's event. */
  readonly createdAt: string
  /** The outcome of each attempt, oldest first. */
  readonly responses: ReadonlyArray<DeliveryAttempt>
  /** The message, the body of the request; null: the journal no longer has it, or its user was erased. */
  readonly message: Message | null
}

/** A page of a webhook's deliveries. */
export interface DeliveryPage {
  /** Newest first. */
  readonly deliveries: ReadonlyArray<Delivery>
  /** Cursor to the next, older page; null: no more. */
  readonly nextCursor: string | null
}

/** The outcome of an attempt. */
export interface DeliveryResponse {
  /** Start of the attempt. */
  readonly at: string
  /** Duration in milliseconds. */
  readonly durationMs: number
  /** The HTTP status; null: no response. */
  readonly status: number | null
  /** Reason for no response: `address_refused` (the name is unknown, or leads to no address that webhooks may reach: see `LAUREL_WEBHOOK_ALLOW_CIDR`), `connection_failed`, `connection_refused`, `connection_reset`, `dns_failure`, `invalid_response`, `timeout`, `tls_failure`. */
  readonly error: string | null
}

/** A balance and its gain. */
export interface Earned {
  /** Amount earned by this request. */
  readonly earned: number
  /** Balance after this request. */
  readonly total: number
}

/** A badge that a user earned. */
export interface EarnedBadge {
  /** The badge's id. */
  readonly id: string
  /** The badge's name. */
  readonly name: string
  /** ISO 8601, UTC, with milliseconds. */
  readonly earnedAt: string
}

/** An action of a user. A new user is created. */
export interface Event {
  /** Your id of the user: 1 to 128 characters, any Unicode except control characters, compared byte by byte. The ids `.` and `..` are refused, since URLs cannot hold them. */
  readonly userId: string
  /** Action of the user. */
  readonly action: string
  /** Details of the event, at most 16384 bytes as JSON and 8 levels deep. With `QUEST_COMPLETE`, `questId` names the quest. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Your id of this event or reward. Repeating an id of the same user changes nothing and returns the first outcome. */
  readonly id?: string
  /** ISO 8601 with a zone. */
  readonly occurredAt?: string
}

/** The durable outcome of an event. */
export interface EventOutcome {
  /** Laurel's id of the event. */
  readonly eventId: string
  /** Your id of the user: 1 to 128 characters, any Unicode except control characters, compared byte by byte. The ids `.` and `..` are refused, since URLs cannot hold them. */
  readonly userId: string
  /** Action of the user. */
  readonly action: string
  /** Whether an earlier event has this `id`. Nothing changed then, and the first outcome is returned. */
  readonly duplicate: boolean
  /** ISO 8601, UTC, with milliseconds. */
  readonly occurredAt: string
  /** ISO 8601, UTC, with milliseconds. */
  readonly receivedAt: string
  readonly xp: Earned
  readonly points: Earned
  readonly level: LevelChange
  /** Badges earned by the event. */
  readonly badges: ReadonlyArray<EarnedBadge>
  /** Quests that the event counted for. */
  readonly quests: ReadonlyArray<QuestOutcome>
  /** Streaks extended by the event. */
  readonly streaks: ReadonlyArray<StreakOutcome>
  /** Present, and `false`, if no enabled rule, published quest, badge or list of a streak's `actions` named the action when the event was applied: usually a misspelt action, or a definition that is missing. Absent otherwise. A streak that any action extends names none; `QUEST_COMPLETE` is always known. */
  readonly matched?: false
  /** Rules that matched the event and gave nothing because of their limit or cooldown. Absent if there is none. */
  readonly withheld?: ReadonlyArray<WithheldReward>
}

/** The refusal of an event in a batch. */
export interface EventRefusal {
  /** The HTTP status for the event, sent alone. */
  readonly status: number
  /** The error code, as in a problem. */
  readonly code: string
  /** Explanation for people. */
  readonly detail: string
  /** All faults of an invalid event. */
  readonly errors: ReadonlyArray<Fault>
}

/** The durable outcome of revoking an event. */
export interface EventRevocation {
  /** Laurel's id of the revoked event. */
  readonly eventId: string
  /** Your id of the user: 1 to 128 characters, any Unicode except control characters, compared byte by byte. The ids `.` and `..` are refused, since URLs cannot hold them. */
  readonly userId: string
  /** Effect on the xp. */
  readonly xp: {
    /** Amount of xp revoked. */
    readonly revoked: number
    /** Balance after this request. */
    readonly total: number
  }
  /** Effect on the points. */
  readonly points: {
    /** Amount of points revoked. */
    readonly revoked: number
    /** Balance after this request. */
    readonly total: number
  }
  readonly level: LevelChange
  /** Badges revoked: those that it gave, and those whose target is no longer reached. */
  readonly badges: ReadonlyArray<{
    /** The badge's id. */
    readonly id: string
    /** The badge's name. */
    readonly name: string
  }>
  /** Quests that lost progress, as they are now. */
  readonly quests: ReadonlyArray<QuestOutcome>
  readonly shortfall: Shortfall
}

/** One fault of a request. */
export interface Fault {
  /** Place of the fault: a JSON Pointer into the body (`/reward/xp`, for NDJSON `/<line from 0>/…`), or `query/<name>`, `path/<name>`, `header/<name>`. */
  readonly pointer: string
  /** Stable code for programs. */
  readonly code: string
  /** Explanation for people. */
  readonly detail: string
}

export interface FileBadge {
  /** The definition's id, the same in each environment. For a new one choose a name that stays, such as `bdg_first-steps`. */
  readonly id: string
  /** Name for people. */
  readonly name: string
  readonly criteria: NewCriteria
  /** Description for people. */
  readonly description?: string
  /** URL, emoji or any text for your app. */
  readonly icon?: string
  /** Whether users see the badge only once earned. Default `false`. */
  readonly secret?: boolean
}

export interface FileQuest {
  /** The definition's id, the same in each environment. For a new one choose a name that stays, such as `qst_first-steps`. */
  readonly id: string
  /** Name for people. */
  readonly title: string
  readonly reward: NewQuestReward
  /** Description for people. */
  readonly description?: string
  /** The quest completes with its last step. Without steps, a `QUEST_COMPLETE` event that names the quest completes it. */
  readonly steps?: ReadonlyArray<NewQuestStep>
  /** Start of the quest: an event that occurred before it does not count, even if it arrives later. Default: when the quest is published; for a step that is added afterwards, when the step is added. */
  readonly startsAt?: string
  /** End of the quest, after `startsAt`; unfinished progress expires then. Default: never. */
  readonly endsAt?: string
  /** A recurring quest restarts each day, ISO week or month in the project's time zone, and gives its reward once per period. Default `none`. */
  readonly recurrence?: "none" | "daily" | "weekly" | "monthly"
  /** Ids of quests that a user must complete first; until then no event counts for this one. Cycles are refused. */
  readonly prerequisites?: ReadonlyArray<string>
  /** Your own metadata. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Absent: the status stays; a new quest is active. */
  readonly status?: "draft" | "active" | "paused"
}

export interface FileRule {
  /** The definition's id, the same in each environment. For a new one choose a name that stays, such as `rul_first-steps`. */
  readonly id: string
  /** Action of the user. */
  readonly action: string
  /** Conditions on the metadata; all must hold. Default: none. */
  readonly where?: ReadonlyArray<Condition>
  readonly reward: NewRuleReward
  /** Path of a number in the metadata: xp and points are multiplied by it and rounded down. If it is not a number, the rule gives nothing. Default: no multiplier. */
  readonly multiplierPath?: string
  /** Lower bound of the multiplier. Default 0. Only with `multiplierPath`. */
  readonly multiplierMin?: number
  /** Upper bound of the multiplier. Default 1000000. Only with `multiplierPath`. */
  readonly multiplierMax?: number
  readonly limit?: RuleLimit
  /** Minimum time between two events of a user for which the rule gives, by the times at which they occurred. Default: none. */
  readonly cooldownSeconds?: number
  /** Whether the rule is active. Default `true`. */
  readonly enabled?: boolean
}

/** The amounts and badges from one source. */
export interface Given {
  /** The source. */
  readonly source: {
    /** The source: a rule, a completed quest, or a badge's own criteria. */
    readonly kind: "rule" | "quest" | "criteria"
    /** The id of the rule or quest. */
    readonly id: string | null
  }
  /** Experience points. */
  readonly xp: number
  /** Points. */
  readonly points: number
  /** The ids of badges. */
  readonly badges: ReadonlyArray<string>
}

/** The user earned a badge. */
export interface HistoryBadgeEarned {
  readonly kind: "badge.earned"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** The badge's id. */
  readonly badgeId: string
  /** The badge's name. */
  readonly name: string
  readonly source: Source
  readonly cause: HistoryCause
}

/** A badge was revoked. */
export interface HistoryBadgeRevoked {
  readonly kind: "badge.revoked"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** The badge's id. */
  readonly badgeId: string
  /** The badge's name. */
  readonly name: string
  readonly cause: HistoryCause
}

/** The cause. */
export type HistoryCause = CauseEvent | CauseReward | CauseSpend | CauseRevocation | CauseBackfill | CauseOther

/** An event was revoked: the sum of its effects. */
export interface HistoryEventRevoked {
  readonly kind: "event.revoked"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  readonly xp: Earned
  readonly points: Earned
  readonly level: LevelChange
  /** Amounts that could not be revoked. */
  readonly shortfall: {
    /** Xp missing. */
    readonly xp: number
    /** Points missing. */
    readonly points: number
  }
  readonly cause: HistoryCause
}

/** An event was accepted: the sum of its effects. */
export interface HistoryEventTracked {
  readonly kind: "event.tracked"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  readonly xp: Earned
  readonly points: Earned
  readonly level: LevelChange
  readonly cause: HistoryCause
}

/** One fact of a user's history. */
export type HistoryFact = HistoryEventTracked | HistoryEventRevoked | HistoryRewardGranted | HistoryRewardRevoked | HistoryXpEarned | HistoryXpRevoked | HistoryPointsEarned | HistoryPointsRevoked | HistoryPointsSpent | HistoryPointsRefunded | HistoryLevelChanged | HistoryBadgeEarned | HistoryBadgeRevoked | HistoryQuestStarted | HistoryQuestProgressed | HistoryQuestCompleted | HistoryQuestRepeated | HistoryQuestReverted | HistoryQuestExpired | HistoryStreakExtended | HistoryStreakCounted | HistoryStreakBroken | HistoryUserCreated | HistoryUserUpdated

/** The level changed. */
export interface HistoryLevelChanged {
  readonly kind: "level.changed"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** The level before. */
  readonly from: number
  /** The level afterwards. */
  readonly to: number
  readonly cause: HistoryCause
}

/** A page of a user's history. */
export interface HistoryPage {
  /** Newest first. With `kind`, a page may have fewer than `limit` facts, or none, although more follow. */
  readonly facts: ReadonlyArray<HistoryFact>
  /** Cursor to the next, older page; null: no more. */
  readonly nextCursor: string | null
}

/** The user earned points from one source. */
export interface HistoryPointsEarned {
  readonly kind: "points.earned"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** How many. */
  readonly amount: number
  /** Balance afterwards. */
  readonly total: number
  readonly source: Source
  readonly cause: HistoryCause
}

/** A spend was revoked. */
export interface HistoryPointsRefunded {
  readonly kind: "points.refunded"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** How many. */
  readonly amount: number
  /** Balance afterwards. */
  readonly total: number
  /** Points missing, since their events or rewards were revoked. */
  readonly shortfall: number
  readonly cause: HistoryCause
}

/** Points were revoked. */
export interface HistoryPointsRevoked {
  readonly kind: "points.revoked"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** How many. */
  readonly amount: number
  /** Balance afterwards. */
  readonly total: number
  readonly cause: HistoryCause
}

/** The user spent points. */
export interface HistoryPointsSpent {
  readonly kind: "points.spent"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** How many. */
  readonly amount: number
  /** Balance afterwards. */
  readonly total: number
  readonly cause: HistoryCause
}

/** The user completed a quest. */
export interface HistoryQuestCompleted {
  readonly kind: "quest.completed"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** The quest's id. */
  readonly questId: string
  /** The quest's title. */
  readonly title: string
  /** Number of the user's completions by then. */
  readonly times: number
  readonly cause: HistoryCause
}

/** The quest ended before the user completed it. */
export interface HistoryQuestExpired {
  readonly kind: "quest.expired"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** The quest's id. */
  readonly questId: string
  /** The quest's title. */
  readonly title: string
  readonly cause: HistoryCause
}

/** An event counted for a quest step. */
export interface HistoryQuestProgressed {
  readonly kind: "quest.progressed"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** The quest's id. */
  readonly questId: string
  /** The quest's title. */
  readonly title: string
  /** The key of the step. */
  readonly step: string
  /** Count or sum at the time. */
  readonly current: number
  /** Required count or sum at the time. */
  readonly target: number
  /** Completed share of the quest, 0 to 1. */
  readonly progress: number
  readonly cause: HistoryCause
}

/** A completed quest was claimed again; nothing was earned. */
export interface HistoryQuestRepeated {
  readonly kind: "quest.repeated"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** The quest's id. */
  readonly questId: string
  /** The quest's title. */
  readonly title: string
  readonly cause: HistoryCause
}

/** Progress in a quest, or its completion, was revoked. */
export interface HistoryQuestReverted {
  readonly kind: "quest.reverted"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** The quest's id. */
  readonly questId: string
  /** The quest's title. */
  readonly title: string
  /** The user's status afterwards. */
  readonly status: "not_started" | "in_progress"
  /** Completed share of the quest, 0 to 1. */
  readonly progress: number
  readonly cause: HistoryCause
}

/** The user began a quest. */
export interface HistoryQuestStarted {
  readonly kind: "quest.started"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** The quest's id. */
  readonly questId: string
  /** The quest's title. */
  readonly title: string
  readonly cause: HistoryCause
}

/** A reward was granted: the sum of its effects. */
export interface HistoryRewardGranted {
  readonly kind: "reward.granted"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  readonly xp: Earned
  readonly points: Earned
  readonly level: LevelChange
  readonly cause: HistoryCause
}

/** A reward was revoked: the sum of its effects. */
export interface HistoryRewardRevoked {
  readonly kind: "reward.revoked"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  readonly xp: Earned
  readonly points: Earned
  readonly level: LevelChange
  /** Amounts that could not be revoked. */
  readonly shortfall: {
    /** Xp missing. */
    readonly xp: number
    /** Points missing. */
    readonly points: number
  }
  readonly cause: HistoryCause
}

/** A streak ended. */
export interface HistoryStreakBroken {
  readonly kind: "streak.broken"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** Key of the streak. */
  readonly key: string
  /** Length of the streak in days. */
  readonly length: number
  /** Longest run in days. */
  readonly best: number
  readonly cause: HistoryCause
}

/** A late event was credited to a past day of a streak. */
export interface HistoryStreakCounted {
  readonly kind: "streak.counted"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** Key of the streak. */
  readonly key: string
  /** Days in a row. */
  readonly current: number
  /** Longest run in days. */
  readonly best: number
  readonly cause: HistoryCause
}

/** A streak grew. */
export interface HistoryStreakExtended {
  readonly kind: "streak.extended"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** Key of the streak. */
  readonly key: string
  /** Days in a row. */
  readonly current: number
  /** Longest run in days. */
  readonly best: number
  readonly cause: HistoryCause
}

/** The user was created. */
export interface HistoryUserCreated {
  readonly kind: "user.created"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  readonly cause: HistoryCause
}

/** The user's profile was changed. */
export interface HistoryUserUpdated {
  readonly kind: "user.updated"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** The whole profile afterwards. */
  readonly profile: {
    /** Name shown on leaderboards. */
    readonly displayName: string | null
    /** The IANA time zone; null: the project's. */
    readonly timezone: string | null
    /** Custom attributes. */
    readonly attributes: Readonly<Record<string, string | number | boolean>>
    /** Hidden from every leaderboard. */
    readonly hidden: boolean
  }
  readonly cause: HistoryCause
}

/** The user earned xp from one source. */
export interface HistoryXpEarned {
  readonly kind: "xp.earned"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** How many. */
  readonly amount: number
  /** Balance afterwards. */
  readonly total: number
  readonly source: Source
  readonly cause: HistoryCause
}

/** Xp were revoked. */
export interface HistoryXpRevoked {
  readonly kind: "xp.revoked"
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string
  /** The record's sequence number; facts with the same number happened together. */
  readonly sequence: number
  /** How many. */
  readonly amount: number
  /** Balance afterwards. */
  readonly total: number
  readonly cause: HistoryCause
}

/** A user's rank and score. */
export interface LeaderboardEntry {
  /** Equal xp share a rank, and the next rank skips: 1, 1, 3. */
  readonly rank: number
  /** Your id of the user: 1 to 128 characters, any Unicode except control characters, compared byte by byte. The ids `.` and `..` are refused, since URLs cannot hold them. */
  readonly userId: string
  /** The user's current display name; null: none. */
  readonly displayName: string | null
  /** The xp earned in the window. */
  readonly xp: number
  /** The level that the xp reach; the lowest is 1. */
  readonly level: number
  /** Rank in the previous window; null: not listed there, or the all-time board. */
  readonly previousRank: number | null
}

/** A page of the leaderboard. */
export interface LeaderboardPage {
  /** The window of the board. */
  readonly window: {
    /** `all_time`, or the xp of one day, ISO week or month in the project's time zone. */
    readonly kind: "all_time" | "daily" | "weekly" | "monthly"
    /** Null for the all-time board. */
    readonly startsAt: string | null
    /** When the next window begins; null for the all-time board. */
    readonly endsAt: string | null
  }
  /** Most xp first. */
  readonly entries: ReadonlyArray<LeaderboardEntry>
  /** Number of items on all pages. */
  readonly total: number
  /** Maximum number of items on this page. */
  readonly limit: number
  /** Number of items before this page. */
  readonly offset: number
  /** Whether more items follow this page. */
  readonly hasMore: boolean
  /** With `around`: the entry of that user, on this page or not; null: not listed. */
  readonly me?: LeaderboardEntry | null
}

/** The level before and after. */
export interface LevelChange {
  /** The level that the xp reach; the lowest is 1. */
  readonly before: number
  /** The level that the xp reach; the lowest is 1. */
  readonly after: number
}

/** Maps xp to levels. */
export type LevelCurve = {
  /** Level n begins at base·n·(n−1) xp. */
  readonly kind: "quadratic"
  /** Half of the xp of level 1. */
  readonly base: number
} | {
  /** Every level takes the same xp. */
  readonly kind: "linear"
  /** Xp per level. */
  readonly xpPerLevel: number
} | {
  /** Each level takes a constant factor more than the previous one. */
  readonly kind: "geometric"
  /** Xp of level 1. */
  readonly base: number
  /** Growth factor. */
  readonly factor: number
} | {
  /** Explicit levels. */
  readonly kind: "table"
  /** Xp at which each level begins; the last one begins the top level. */
  readonly thresholds: ReadonlyArray<number>
}

/** Maps xp to levels. A new curve changes every user's level at once; xp stay. Changing `kind` replaces the whole curve. */
export interface LevelCurvePatch {
  /** `quadratic`: level n begins at base·n·(n−1) xp. `linear`: every level takes `xpPerLevel`. `geometric`: level 1 takes `base`, each further level `factor` times the previous one, rounded. `table`: levels begin at `thresholds`. */
  readonly kind?: "quadratic" | "linear" | "geometric" | "table"
  /** For `quadratic` and `geometric`. */
  readonly base?: number
  /** For `linear`. */
  readonly xpPerLevel?: number
  /** For `geometric`. */
  readonly factor?: number
  /** For `table`: the xp at which each level begins, from 0. The last one begins the top level. */
  readonly thresholds?: ReadonlyArray<number>
}

/** Progress within the level. */
export interface LevelProgress {
  /** Xp at which the level begins. */
  readonly xpAtStart: number
  /** Xp at which the next level begins; null on the top level. */
  readonly xpAtNext: number | null
  /** Xp earned within the level. */
  readonly xpInto: number
  /** Xp missing to the next level; null on the top level. */
  readonly xpToNext: number | null
  /** Completed share of the level, 0 to 1. */
  readonly ratio: number
}

/** A message; `type` is its kind. */
export type Message = MessageEventTracked | MessageXpEarned | MessageXpRevoked | MessagePointsEarned | MessagePointsRevoked | MessagePointsSpent | MessagePointsRefunded | MessageLevelChanged | MessageBadgeEarned | MessageBadgeRevoked | MessageStreakExtended | MessageStreakBroken | MessageQuestStarted | MessageQuestProgressed | MessageQuestCompleted | MessageQuestExpired | MessageQuestCreated | MessageQuestUpdated | MessageRewardGranted | MessageRewardRevoked | MessageLeaderboardWindowClosed | MessageUserCreated | MessageUserDeleted | MessageWebhookDisabled | MessageWebhookTest

/** A user earned a badge. */
export interface MessageBadgeEarned {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "badge.earned"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** Id of the badge. */
    readonly badgeId: string
    /** Name of the badge. */
    readonly name: string
    readonly source: Source
  }
}

/** A badge was revoked. */
export interface MessageBadgeRevoked {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "badge.revoked"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** Id of the badge. */
    readonly badgeId: string
    /** Name of the badge. */
    readonly name: string
  }
}

/** All kinds of message. */
export interface MessageCatalogue {
  /** All kinds. */
  readonly kinds: ReadonlyArray<MessageKind>
}

/** The cause. `clock`: the passing of time. */
export interface MessageCause {
  /** Kind of cause. */
  readonly kind: "event" | "reward" | "spend" | "revocation" | "profile" | "backfill" | "clock"
  /** The event, reward or spend that was sent or, for `revocation`, revoked. */
  readonly id: string | null
}

/** An event was accepted. Its effects have messages of their own. */
export interface MessageEventTracked {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "event.tracked"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** Laurel's id of the event. */
    readonly eventId: string
    /** Action of the event. */
    readonly action: string
    /** Time of the event, as sent by the caller. */
    readonly occurredAt: string
    /** Time at which Laurel accepted it. */
    readonly receivedAt: string
    /** The metadata sent with the event. */
    readonly metadata: Readonly<Record<string, unknown>> | null
    /** The balance of xp and its change. */
    readonly xp: {
      /** The xp earned; negative where they were revoked. */
      readonly earned: number
      /** Balance after this request. */
      readonly total: number
    }
    /** The balance of points and its change. */
    readonly points: {
      /** The points earned; negative where they were revoked. */
      readonly earned: number
      /** Balance after this request. */
      readonly total: number
    }
    /** The level before and after. */
    readonly level: {
      /** The level before. */
      readonly before: number
      /** The level after. */
      readonly after: number
    }
  }
}

/** A kind of message. */
export interface MessageKind {
  /** The kind, as in `type`. */
  readonly kind: "event.tracked" | "xp.earned" | "xp.revoked" | "points.earned" | "points.revoked" | "points.spent" | "points.refunded" | "level.changed" | "badge.earned" | "badge.revoked" | "streak.extended" | "streak.broken" | "quest.started" | "quest.progressed" | "quest.completed" | "quest.expired" | "quest.created" | "quest.updated" | "reward.granted" | "reward.revoked" | "leaderboard.window_closed" | "user.created" | "user.deleted" | "webhook.disabled" | "webhook.test"
  /** When the message is sent. */
  readonly description: string
  /** A JSON Schema (draft 2020-12) of the message's body. */
  readonly schema: Readonly<Record<string, unknown>>
  /** A message of this kind. */
  readonly example: Readonly<Record<string, unknown>>
}

/** A day, week or month of the leaderboard closed. */
export interface MessageLeaderboardWindowClosed {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "leaderboard.window_closed"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** Kind of window. */
    readonly window: "daily" | "weekly" | "monthly"
    /** Start of the window. */
    readonly startsAt: string
    /** End of the window. */
    readonly endsAt: string
    /** Number of users on its board. */
    readonly total: number
  }
}

/** A user's level rose or fell: one message for any number of levels. */
export interface MessageLevelChanged {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "level.changed"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** The level before. */
    readonly from: number
    /** The level after; lower if xp were revoked. */
    readonly to: number
    /** The levels gained; of more than 1,000, the highest. */
    readonly levels: ReadonlyArray<number>
  }
}

/** A user earned points from one source. */
export interface MessagePointsEarned {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "points.earned"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** The amount. */
    readonly amount: number
    /** The running balance of the cause. */
    readonly total: number
    readonly source: Source
  }
}

/** A spend was revoked. */
export interface MessagePointsRefunded {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "points.refunded"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** The spend that was revoked. */
    readonly spendId: string
    /** The amount returned to the balance. */
    readonly amount: number
    /** The balance afterwards. */
    readonly total: number
    /** The part that was not returned: its points were revoked at their source. */
    readonly shortfall: number
  }
}

/** Points were revoked with an event or a reward. */
export interface MessagePointsRevoked {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "points.revoked"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** The amount revoked. */
    readonly amount: number
    /** The balance afterwards. */
    readonly total: number
  }
}

/** A user spent points. */
export interface MessagePointsSpent {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "points.spent"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** Id of the spend. */
    readonly spendId: string
    /** The amount spent. */
    readonly amount: number
    /** The balance afterwards. */
    readonly total: number
    /** The reason sent with the spend. */
    readonly reason: string | null
  }
}

/** The quest afterwards; `GET /v1/quests/{id}` has all of it. */
export interface MessageQuest {
  /** Id of the quest. */
  readonly id: string
  /** Title of the quest. */
  readonly title: string
  /** Status of the quest. */
  readonly status: "draft" | "scheduled" | "active" | "paused" | "ended" | "archived"
  /** The quest's reward. */
  readonly reward: {
    /** Experience points. */
    readonly xp: number
    /** Points. */
    readonly points: number
    /** Id of a badge. */
    readonly badgeId: string | null
  }
  /** How often the quest starts again. */
  readonly recurrence: "none" | "daily" | "weekly" | "monthly"
  /** Start of the quest. */
  readonly startsAt: string | null
  /** End of the quest. */
  readonly endsAt: string | null
  /** Time of creation. */
  readonly createdAt: string
  /** Time of the last change. */
  readonly updatedAt: string
}

/** A user completed a quest. */
export interface MessageQuestCompleted {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "quest.completed"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** Id of the quest. */
    readonly questId: string
    /** Title of the quest. */
    readonly title: string
    /** The user's completions, this one included. */
    readonly times: number
  }
}

/** A quest was created. */
export interface MessageQuestCreated {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "quest.created"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    readonly quest: MessageQuest
  }
}

/** A quest or its period ended before a user who had started it completed it. */
export interface MessageQuestExpired {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "quest.expired"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** Id of the quest. */
    readonly questId: string
    /** Title of the quest. */
    readonly title: string
  }
}

/** An event counted for a quest step. */
export interface MessageQuestProgressed {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "quest.progressed"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** Id of the quest. */
    readonly questId: string
    /** Title of the quest. */
    readonly title: string
    /** The key of the step. */
    readonly step: string
    /** Events counted for the step, or their sum, which may exceed the target. */
    readonly current: number
    /** The target of the step. */
    readonly target: number
    /** The completed share of the whole quest, 0 to 1. */
    readonly progress: number
  }
}

/** A user's first event counted for a step of a quest. */
export interface MessageQuestStarted {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "quest.started"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** Id of the quest. */
    readonly questId: string
    /** Title of the quest. */
    readonly title: string
  }
}

/** A quest's definition was changed or archived. */
export interface MessageQuestUpdated {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "quest.updated"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    readonly quest: MessageQuest
  }
}

/** A reward was granted by hand. */
export interface MessageRewardGranted {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "reward.granted"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** Laurel's id of the reward. */
    readonly rewardId: string
    /** Kind of reward. */
    readonly type: "xp" | "points" | "badge"
    /** Amount granted; null for a badge. */
    readonly amount: number | null
    /** Id of the badge granted; null for xp and points. */
    readonly badgeId: string | null
    /** The reason sent with the reward. */
    readonly reason: string | null
    /** The balance of xp and its change. */
    readonly xp: {
      /** The xp earned; negative where they were revoked. */
      readonly earned: number
      /** Balance after this request. */
      readonly total: number
    }
    /** The balance of points and its change. */
    readonly points: {
      /** The points earned; negative where they were revoked. */
      readonly earned: number
      /** Balance after this request. */
      readonly total: number
    }
    /** The level before and after. */
    readonly level: {
      /** The level before. */
      readonly before: number
      /** The level after. */
      readonly after: number
    }
  }
}

/** A reward was revoked. */
export interface MessageRewardRevoked {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "reward.revoked"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** Laurel's id of the reward. */
    readonly rewardId: string
    /** The balance of xp and its change. */
    readonly xp: {
      /** The xp earned; negative where they were revoked. */
      readonly earned: number
      /** Balance after this request. */
      readonly total: number
    }
    /** The balance of points and its change. */
    readonly points: {
      /** The points earned; negative where they were revoked. */
      readonly earned: number
      /** Balance after this request. */
      readonly total: number
    }
    /** The level before and after. */
    readonly level: {
      /** The level before. */
      readonly before: number
      /** The level after. */
      readonly after: number
    }
    /** The part already spent, which could not be revoked. */
    readonly shortfall: {
      /** Xp missing. */
      readonly xp: number
      /** Points missing. */
      readonly points: number
    }
  }
}

/** A user missed a day without a freeze left. */
export interface MessageStreakBroken {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "streak.broken"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** The key of the streak. */
    readonly key: string
    /** Length of the streak in days. */
    readonly length: number
    /** Longest run in days. */
    readonly best: number
  }
}

/** A user's streak grew by a day. */
export interface MessageStreakExtended {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "streak.extended"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** The key of the streak. */
    readonly key: string
    /** Days in a row. */
    readonly current: number
    /** Longest run in days. */
    readonly best: number
  }
}

/** A user was created by a first event, reward or profile. */
export interface MessageUserCreated {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "user.created"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
  }
}

/** A user was erased. Undelivered messages about the user are dropped. */
export interface MessageUserDeleted {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "user.deleted"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
  }
}

/** Laurel disabled a webhook; sent to all other webhooks. */
export interface MessageWebhookDisabled {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "webhook.disabled"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** Id of the webhook. */
    readonly webhookId: string
    /** The webhook's description for people. */
    readonly description: string | null
    /** `gone`: it answered 410. `failing`: only failures for five days. */
    readonly reason: "gone" | "failing"
    /** Time at which it was disabled. */
    readonly disabledAt: string
  }
}

/** A test was requested; sent to the tested webhook, whatever its subscriptions. */
export interface MessageWebhookTest {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "webhook.test"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** Id of the webhook. */
    readonly webhookId: string
  }
}

/** A user earned xp from one source. */
export interface MessageXpEarned {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "xp.earned"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** The amount. */
    readonly amount: number
    /** The running balance of the cause. */
    readonly total: number
    readonly source: Source
  }
}

/** Xp were revoked with an event or a reward. */
export interface MessageXpRevoked {
  /** The message's id, the same on every attempt, also in the header field `webhook-id`. */
  readonly id: string
  readonly type: "xp.revoked"
  /** Time of the record. */
  readonly timestamp: string
  /** The project's id. */
  readonly project: string
  /** The environment. */
  readonly environment: "sandbox" | "production"
  /** The content of the message. */
  readonly data: {
    /** The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it. */
    readonly sequence: number
    /** The caller's own id of the user. */
    readonly userId: string
    readonly cause: MessageCause
    /** The amount revoked. */
    readonly amount: number
    /** The balance afterwards. */
    readonly total: number
  }
}

/** A badge to create. */
export interface NewBadge {
  /** Name for people. */
  readonly name: string
  readonly criteria: NewCriteria
  /** Description for people. */
  readonly description?: string
  /** URL, emoji or any text for your app. */
  readonly icon?: string
  /** Whether users see the badge only once earned. Default `false`. */
  readonly secret?: boolean
}

/** The badge's criteria. */
export interface NewCriteria {
  /** The number that earns the badge: the user's `xp` or `level`; `points`: points earned, spent ones included; `action_count`: events with an action; `action_sum`: the sum of a number in their metadata; `quest_count`: completed quests; `streak`: days of a streak; `manual`: none, only rules, quests and rewards give it. */
  readonly kind: "xp" | "level" | "points" | "action_count" | "action_sum" | "quest_count" | "streak" | "manual"
  /** The number at which the badge is earned; required unless the kind is `manual`. */
  readonly target?: number
  /** Action of the user. */
  readonly action?: string
  /** Conditions on the metadata; all must hold. Default: none. */
  readonly where?: ReadonlyArray<Condition>
  /** The path to the number to sum; only for the kind `action_sum`, and required there. */
  readonly sumPath?: string
  /** The key of a streak; only for the kind `streak`. Default: any streak. */
  readonly streak?: string
}

/** A quest to create. */
export interface NewQuest {
  /** Name for people. */
  readonly title: string
  readonly reward: NewQuestReward
  /** Description for people. */
  readonly description?: string
  /** The quest completes with its last step. Without steps, a `QUEST_COMPLETE` event that names the quest completes it. */
  readonly steps?: ReadonlyArray<NewQuestStep>
  /** Start of the quest: an event that occurred before it does not count, even if it arrives later. Default: when the quest is published; for a step that is added afterwards, when the step is added. */
  readonly startsAt?: string
  /** End of the quest, after `startsAt`; unfinished progress expires then. Default: never. */
  readonly endsAt?: string
  /** A recurring quest restarts each day, ISO week or month in the project's time zone, and gives its reward once per period. Default `none`. */
  readonly recurrence?: "none" | "daily" | "weekly" | "monthly"
  /** Ids of quests that a user must complete first; until then no event counts for this one. Cycles are refused. */
  readonly prerequisites?: ReadonlyArray<string>
  /** Users do not see a `draft`. `active` publishes the quest; with a `startsAt` in the future it is `scheduled` until then. Default `active`. */
  readonly status?: "draft" | "active"
  /** Your own metadata. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** Reward for completing the quest. */
export interface NewQuestReward {
  /** Experience points. */
  readonly xp: number
  /** Points, a balance separate from xp. */
  readonly points?: number
  /** The id of an active badge. */
  readonly badgeId?: string
}

/** A step: a number of events with this action that satisfy `where`, or with `sumPath` the sum of a number of theirs. */
export interface NewQuestStep {
  /** Your key of the step, unique within the quest. */
  readonly key: string
  /** Action of the user. */
  readonly action: string
  /** Conditions on the metadata; all must hold. Default: none. */
  readonly where?: ReadonlyArray<Condition>
  /** Number of events, or sum, that completes the step. */
  readonly target: number
  /** The path to a number in the metadata, to sum instead of counting events. Numbers up to 1000000000 add up exactly, rounded to 4 decimals; an event without a number above 0 there does not count. The target is at most 1000000000; the sum stops at 2000000000. */
  readonly sumPath?: string | null
}

/** A rule to create. */
export interface NewRule {
  /** Action of the user. */
  readonly action: string
  /** Conditions on the metadata; all must hold. Default: none. */
  readonly where?: ReadonlyArray<Condition>
  readonly reward: NewRuleReward
  /** Path of a number in the metadata: xp and points are multiplied by it and rounded down. If it is not a number, the rule gives nothing. Default: no multiplier. */
  readonly multiplierPath?: string
  /** Lower bound of the multiplier. Default 0. Only with `multiplierPath`. */
  readonly multiplierMin?: number
  /** Upper bound of the multiplier. Default 1000000. Only with `multiplierPath`. */
  readonly multiplierMax?: number
  readonly limit?: RuleLimit
  /** Minimum time between two events of a user for which the rule gives, by the times at which they occurred. Default: none. */
  readonly cooldownSeconds?: number
  /** Whether the rule is active. Default `true`. */
  readonly enabled?: boolean
}

/** The rule's reward: at least xp, points or a badge. */
export interface NewRuleReward {
  /** Experience points. */
  readonly xp?: number
  /** Points, a balance separate from xp. */
  readonly points?: number
  /** The id of an active badge. */
  readonly badgeId?: string
}

/** Points to spend. */
export interface NewSpend {
  /** Points to spend. */
  readonly amount: number
  /** Purpose of the spend, kept in the user's history. */
  readonly reason?: string
  /** Your id of this spend. Repeating the id of a spend of the same user changes nothing and returns the first outcome, also with another amount. */
  readonly id?: string
}

export interface NewStreak {
  /** Your key of the streak; users' days are stored under it. */
  readonly key: string
  /** Actions that count; one event a day is enough. Default: every action. */
  readonly actions?: ReadonlyArray<string>
  readonly freezes?: NewStreakFreezes
}

/** Freezes: each forgives one missed day. Default: none. */
export interface NewStreakFreezes {
  /** Freezes of a new streak. Default 0. */
  readonly initial?: number
  /** Maximum number of freezes. Default: `initial`. */
  readonly max?: number
  /** The streak gains a freeze at each multiple of this number of days. Default: never. */
  readonly everyDays?: number | null
}

export interface NewWebhook {
  /** URL of the receiver: http or https (https in production), a public address or one that the server allows with `LAUREL_WEBHOOK_ALLOW_CIDR`, no user name or password. The address is checked now and at every connection. */
  readonly url: string
  /** The messages to send: kinds, families (`quest.*`), or all (`*`). Kinds: `event.tracked`, `xp.earned`, `xp.revoked`, `points.earned`, `points.revoked`, `points.spent`, `points.refunded`, `level.changed`, `badge.earned`, `badge.revoked`, `streak.extended`, `streak.broken`, `quest.started`, `quest.progressed`, `quest.completed`, `quest.expired`, `quest.created`, `quest.updated`, `reward.granted`, `reward.revoked`, `leaderboard.window_closed`, `user.created`, `user.deleted`, `webhook.disabled`, `webhook.test`; `GET /v1/webhook-events` describes them. */
  readonly events: ReadonlyArray<string>
  /** Description for people. */
  readonly description?: string
}

export interface PointsGrant {
  readonly type: "points"
  /** Amount to grant. */
  readonly amount: number
  /** Reason, kept in the user's history. */
  readonly reason?: string
  /** Your id of this event or reward. Repeating an id of the same user changes nothing and returns the first outcome. */
  readonly id?: string
}

/** An event, and drafts of settings, a badge, a quest and a rule. */
export interface PreviewRequest {
  readonly event: Event
  readonly settings?: ProjectPatch
  readonly badge?: NewBadge
  /** The id of the badge that the draft replaces. Default: the draft is a new badge. */
  readonly badgeId?: string
  readonly quest?: NewQuest
  /** The id of the quest that the draft replaces. Default: the draft is a new quest. */
  readonly questId?: string
  readonly rule?: NewRule
  /** The id of the rule that the draft replaces. Default: the draft is a new rule. */
  readonly ruleId?: string
}

/** A partial change of a user's profile. */
export interface ProfileChange {
  /** Shown on leaderboards; null: none. */
  readonly displayName?: string | null
  /** The user's IANA time zone, ignoring case: streaks use its days; null: the project's. Another name of the same zone changes nothing. */
  readonly timezone?: string | null
  /** Replaces the user's custom attributes: at most 50 texts (at most 500 characters), numbers or booleans, under names of at most 64 characters. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>
  /** Hidden from every leaderboard. */
  readonly hidden?: boolean
}

/** A user's progress. */
export interface Progress {
  /** Your id of the user: 1 to 128 characters, any Unicode except control characters, compared byte by byte. The ids `.` and `..` are refused, since URLs cannot hold them. */
  readonly userId: string
  /** Experience points. */
  readonly xp: number
  /** The level that the xp reach; the lowest is 1. */
  readonly level: number
  readonly levelProgress: LevelProgress
  /** Rank on the all-time leaderboard; null: not listed. */
  readonly rank: number | null
  /** Points, a balance separate from xp. */
  readonly points: number
  /** Badges that the user can earn or has earned; secret ones only once earned. */
  readonly badges: ReadonlyArray<BadgeProgress>
  /** Active quests, and others that the user began, with their status now: a quest past its end has expired, a recurring one is not started in a new period. */
  readonly quests: ReadonlyArray<QuestProgress>
  /** The project's streaks. */
  readonly streaks: ReadonlyArray<StreakProgress>
}

/** Settings of an environment. */
export interface Project {
  /** Laurel's id of the project. */
  readonly id: string
  /** The key's environment, which these settings belong to. */
  readonly environment: "sandbox" | "production"
  /** Name for people. */
  readonly name: string
  /** The IANA time zone of days, weeks and months. */
  readonly timezone: string
  readonly levelCurve: LevelCurve
  /** The project's streaks. */
  readonly streaks: ReadonlyArray<Streak>
  /** The actions that users may send themselves, with a user token. */
  readonly clientActions: ReadonlyArray<string>
  /** The tier of the key in use (read only). */
  readonly tier: "free" | "pro" | "enterprise"
}

/** A change of settings. */
export interface ProjectPatch {
  /** Name for people. Default: the project name of its keys. */
  readonly name?: string | null
  /** The IANA time zone of days, weeks and months for leaderboards, limits, recurring quests, and users without a time zone. */
  readonly timezone?: string
  readonly levelCurve?: LevelCurvePatch
  /** The full list of the project's streaks. A streak used by badges cannot be removed. */
  readonly streaks?: ReadonlyArray<NewStreak> | null
  /** The actions that users may send themselves, with a user token. A user can send them at any time and with any metadata: list only what users may claim, and give their rules limits. Default: none. */
  readonly clientActions?: ReadonlyArray<string> | null
}

/** A quest with its reward. */
export interface Quest {
  /** Laurel's id of the quest. */
  readonly id: string
  /** Name for people. */
  readonly title: string
  /** Description for people. */
  readonly description: string | null
  /** `draft` → `scheduled` → `active` ⇄ `paused` → `ended` → `archived`. `scheduled`, `active` and `ended` follow the clock. */
  readonly status: "draft" | "scheduled" | "active" | "paused" | "ended" | "archived"
  readonly reward: Reward
  /** The quest completes with its last step. */
  readonly steps: ReadonlyArray<QuestStep>
  /** Start of the quest; null: when it is published. */
  readonly startsAt: string | null
  /** End of the quest; null: never. */
  readonly endsAt: string | null
  /** Whether the quest restarts each day, ISO week or month. */
  readonly recurrence: "none" | "daily" | "weekly" | "monthly"
  /** Ids of quests that a user must complete first. */
  readonly prerequisites: ReadonlyArray<string>
  /** Your own metadata. */
  readonly metadata: Readonly<Record<string, unknown>>
  /** ISO 8601, UTC, with milliseconds. */
  readonly createdAt: string
  /** ISO 8601, UTC, with milliseconds. */
  readonly updatedAt: string
}

/** Number of participants. */
export interface QuestCounts {
  /** Number of users with unfinished progress, in the period in which they began. */
  readonly inProgress: number
  /** Number of users who completed the quest at least once. */
  readonly completed: number
}

/** The event's effect on a quest. */
export interface QuestOutcome {
  /** The quest's id. */
  readonly questId: string
  /** The quest's title. */
  readonly title: string
  /** The user's status in the quest now. */
  readonly status: "not_started" | "in_progress" | "completed" | "expired"
  /** Completed share, 0 to 1. */
  readonly progress: number
  /** The user completed the quest earlier and earned nothing this time. */
  readonly alreadyCompleted: boolean
}

/** A page of the quests. */
export interface QuestPage {
  /** In the order of creation. */
  readonly quests: ReadonlyArray<Quest>
  /** Number of items on all pages. */
  readonly total: number
  /** Maximum number of items on this page. */
  readonly limit: number
  /** Number of items before this page. */
  readonly offset: number
  /** Whether more items follow this page. */
  readonly hasMore: boolean
}

export interface QuestPatch {
  /** Name for people. */
  readonly title?: string
  readonly reward?: RewardPatch
  /** Description for people. */
  readonly description?: string | null
  /** The quest completes with its last step. Without steps, a `QUEST_COMPLETE` event that names the quest completes it. */
  readonly steps?: ReadonlyArray<NewQuestStep> | null
  /** Start of the quest: an event that occurred before it does not count, even if it arrives later. Default: when the quest is published; for a step that is added afterwards, when the step is added. */
  readonly startsAt?: string | null
  /** End of the quest, after `startsAt`; unfinished progress expires then. Default: never. */
  readonly endsAt?: string | null
  /** A recurring quest restarts each day, ISO week or month in the project's time zone, and gives its reward once per period. Default `none`. */
  readonly recurrence?: "none" | "daily" | "weekly" | "monthly" | null
  /** Ids of quests that a user must complete first; until then no event counts for this one. Cycles are refused. */
  readonly prerequisites?: ReadonlyArray<string> | null
  /** `active`, `paused` or `archived`; the other statuses follow the clock. */
  readonly status?: "draft" | "scheduled" | "active" | "paused" | "ended" | "archived"
  /** Your own metadata. */
  readonly metadata?: Readonly<Record<string, unknown>> | null
}

/** Progress in a quest. */
export interface QuestProgress {
  /** The quest's id. */
  readonly questId: string
  /** The quest's title. */
  readonly title: string
  /** The user's status in the quest now. */
  readonly status: "not_started" | "in_progress" | "completed" | "expired"
  /** The quest's current steps. */
  readonly steps: ReadonlyArray<StepProgress>
  /** End of the current period or, without recurrence, of the quest; null: never, or archived. */
  readonly periodEndsAt: string | null
  /** In the current period. */
  readonly completedAt: string | null
}

export interface QuestStep {
  /** Your key of the step, unique within the quest. */
  readonly key: string
  /** Action of the user. */
  readonly action: string
  /** Conditions on the metadata; all must hold. */
  readonly where: ReadonlyArray<Condition>
  /** Number of events, or sum, that completes the step. */
  readonly target: number
  /** The path to the number that the step sums; null: it counts events. */
  readonly sumPath: string | null
}

/** The period under recovery. */
export interface Recovery {
  /** ISO 8601, UTC, with milliseconds. */
  readonly since: string
  /** ISO 8601, UTC, with milliseconds. */
  readonly until: string
}

export interface RecoveryRequest {
  /** Recover messages since this time; not in the future. */
  readonly since: string
}

/** The durable outcome of revoking a spend. */
export interface Refund {
  /** Laurel's id of the spend. */
  readonly spendId: string
  /** Your id of the user: 1 to 128 characters, any Unicode except control characters, compared byte by byte. The ids `.` and `..` are refused, since URLs cannot hold them. */
  readonly userId: string
  /** Effect on the points. */
  readonly points: {
    /** Points returned to the balance. */
    readonly refunded: number
    /** Balance after this request. */
    readonly total: number
  }
  /** Amounts that could not be refunded. */
  readonly shortfall: {
    /** Points not returned, since the events or rewards that gave them were revoked after the spend. */
    readonly points: number
  }
}

/** The rule's reward. */
export interface Reward {
  /** Experience points. */
  readonly xp: number
  /** Points. */
  readonly points: number
  /** A badge. */
  readonly badgeId: string | null
}

/** A grant of xp, points or a badge. */
export type RewardGrant = XpGrant | PointsGrant | BadgeGrant

/** The durable outcome of a reward. */
export interface RewardOutcome {
  /** Laurel's id of the reward. */
  readonly rewardId: string
  /** Your id of the user: 1 to 128 characters, any Unicode except control characters, compared byte by byte. The ids `.` and `..` are refused, since URLs cannot hold them. */
  readonly userId: string
  /** Kind of reward. */
  readonly type: "xp" | "points" | "badge"
  /** Amount granted; null for a badge. */
  readonly amount: number | null
  /** Id of the badge granted; null for xp and points. */
  readonly badgeId: string | null
  /** Whether an earlier reward has this `id`. Nothing changed then, and the first outcome is returned. */
  readonly duplicate: boolean
  readonly xp: Earned
  readonly points: Earned
  readonly level: LevelChange
  /** Badges that the user earned: the granted one, unless the user had it, and any that followed. */
  readonly badges: ReadonlyArray<EarnedBadge>
}

/** The rule's reward. */
export interface RewardPatch {
  /** Experience points. */
  readonly xp?: number
  /** Points, a balance separate from xp. */
  readonly points?: number | null
  /** The id of an active badge. */
  readonly badgeId?: string | null
}

/** The durable outcome of revoking a reward. */
export interface RewardRevocation {
  /** Laurel's id of the revoked reward. */
  readonly rewardId: string
  /** Your id of the user: 1 to 128 characters, any Unicode except control characters, compared byte by byte. The ids `.` and `..` are refused, since URLs cannot hold them. */
  readonly userId: string
  /** Effect on the xp. */
  readonly xp: {
    /** Amount of xp revoked. */
    readonly revoked: number
    /** Balance after this request. */
    readonly total: number
  }
  /** Effect on the points. */
  readonly points: {
    /** Amount of points revoked. */
    readonly revoked: number
    /** Balance after this request. */
    readonly total: number
  }
  readonly level: LevelChange
  /** Badges revoked: those that it gave, and those whose target is no longer reached. */
  readonly badges: ReadonlyArray<{
    /** The badge's id. */
    readonly id: string
    /** The badge's name. */
    readonly name: string
  }>
  /** Quests that lost progress, as they are now. */
  readonly quests: ReadonlyArray<QuestOutcome>
  readonly shortfall: Shortfall
}

/** The new secret. */
export interface RotatedSecret {
  /** The new secret, shown only once. */
  readonly secret: string
  /** Time until which the previous secret also signs; null: it has ended. */
  readonly previousSecretExpiresAt: string | null
}

export interface Rotation {
  /** Seconds for which the previous secret also signs. 0: all previous secrets end now. Default 86,400. */
  readonly graceSeconds?: number
}

/** A rule: the reward for events with an action. */
export type Rule = {
  /** Laurel's id of the rule. */
  readonly id: string
  /** Action of the user. */
  readonly action: string
  /** Conditions on the metadata; all must hold. */
  readonly where: ReadonlyArray<Condition>
  readonly reward: Reward
  /** Path of the multiplier in the metadata. */
  readonly multiplierPath: string | null
  /** Lower bound of the multiplier. */
  readonly multiplierMin: number | null
  /** Upper bound of the multiplier. */
  readonly multiplierMax: number | null
  /** Maximum uses per user. */
  readonly limit: {
    /** Uses per period. */
    readonly times: number
    /** Days, ISO weeks and months use the project's time zone; hours are clock hours of that zone; `ever` never resets. */
    readonly per: "hour" | "day" | "week" | "month" | "ever"
  } | null
  /** Minimum time between two events of a user for which the rule gives. */
  readonly cooldownSeconds: number | null
  /** Whether the rule is active. */
  readonly enabled: boolean
  /** ISO 8601, UTC, with milliseconds. */
  readonly createdAt: string
  /** ISO 8601, UTC, with milliseconds. */
  readonly updatedAt: string
}

/** Maximum uses per user, counted in the period in which the event occurred. Default: no limit. */
export interface RuleLimit {
  /** Uses per period. */
  readonly times: number
  /** Days, ISO weeks and months use the project's time zone; hours are clock hours of that zone; `ever` never resets. */
  readonly per: "hour" | "day" | "week" | "month" | "ever"
}

export interface RuleLimitPatch {
  /** Uses per period. */
  readonly times?: number
  /** Days, ISO weeks and months use the project's time zone; hours are clock hours of that zone; `ever` never resets. */
  readonly per?: "hour" | "day" | "week" | "month" | "ever"
}

/** A page of the rules. */
export interface RulePage {
  /** In the order of creation. */
  readonly rules: ReadonlyArray<Rule>
  /** Number of items on all pages. */
  readonly total: number
  /** Maximum number of items on this page. */
  readonly limit: number
  /** Number of items before this page. */
  readonly offset: number
  /** Whether more items follow this page. */
  readonly hasMore: boolean
}

export interface RulePatch {
  /** Action of the user. */
  readonly action?: string
  /** Conditions on the metadata; all must hold. Default: none. */
  readonly where?: ReadonlyArray<Condition> | null
  readonly reward?: RuleRewardPatch
  /** Path of a number in the metadata: xp and points are multiplied by it and rounded down. If it is not a number, the rule gives nothing. Default: no multiplier. */
  readonly multiplierPath?: string | null
  /** Lower bound of the multiplier. Default 0. Only with `multiplierPath`. */
  readonly multiplierMin?: number | null
  /** Upper bound of the multiplier. Default 1000000. Only with `multiplierPath`. */
  readonly multiplierMax?: number | null
  /** Maximum uses per user, counted in the period in which the event occurred. Default: no limit. */
  readonly limit?: RuleLimitPatch | null
  /** Minimum time between two events of a user for which the rule gives, by the times at which they occurred. Default: none. */
  readonly cooldownSeconds?: number | null
  /** Whether the rule is active. Default `true`. */
  readonly enabled?: boolean | null
}

/** The rule's reward. */
export interface RuleRewardPatch {
  /** Experience points. */
  readonly xp?: number | null
  /** Points, a balance separate from xp. */
  readonly points?: number | null
  /** The id of an active badge. */
  readonly badgeId?: string | null
}

/** An accepted delivery. */
export interface Sent {
  /** The delivery's id. */
  readonly deliveryId: string
  /** The message's id, sent as `webhook-id`. */
  readonly messageId: string
}

/** Amounts that could not be revoked, since no balance goes below 0. */
export interface Shortfall {
  /** Amount of xp missing. */
  readonly xp: number
  /** Amount of points missing. */
  readonly points: number
}

/** The outcome that an event would have. */
export interface Simulation {
  /** Your id of the user: 1 to 128 characters, any Unicode except control characters, compared byte by byte. The ids `.` and `..` are refused, since URLs cannot hold them. */
  readonly userId: string
  /** Action of the user. */
  readonly action: string
  /** Whether an earlier event has this `id`. The event would change nothing then, and the first outcome is returned. */
  readonly duplicate: boolean
  /** ISO 8601, UTC, with milliseconds. */
  readonly occurredAt: string
  readonly xp: Earned
  readonly points: Earned
  readonly level: LevelChange
  /** Badges that the event would earn. */
  readonly badges: ReadonlyArray<{
    /** The badge's id. */
    readonly id: string
    /** Name for people. */
    readonly name: string
  }>
  /** Quests that the event would count for. */
  readonly quests: ReadonlyArray<QuestOutcome>
  /** Streaks that the event would extend. */
  readonly streaks: ReadonlyArray<StreakOutcome>
  /** Present, and `false`, if no enabled rule, published quest, badge or list of a streak's `actions` named the action when the event was applied: usually a misspelt action, or a definition that is missing. Absent otherwise. A streak that any action extends names none; `QUEST_COMPLETE` is always known. */
  readonly matched?: false
  /** Rules that matched the event and gave nothing because of their limit or cooldown. Absent if there is none. */
  readonly withheld?: ReadonlyArray<WithheldReward>
  /** The sources, in the order of their effect. */
  readonly given: ReadonlyArray<Given>
}

/** The source: a rule, a quest, a reward or, for a badge, its own criteria. */
export interface Source {
  /** Kind of source. */
  readonly kind: "rule" | "quest" | "reward" | "criteria"
  /** Id of the rule or quest; null for other kinds. */
  readonly id: string | null
}

/** The durable outcome of a spend. */
export interface Spend {
  /** Laurel's id of the spend. */
  readonly spendId: string
  /** Your id of the user: 1 to 128 characters, any Unicode except control characters, compared byte by byte. The ids `.` and `..` are refused, since URLs cannot hold them. */
  readonly userId: string
  /** Points spent. */
  readonly amount: number
  /** The reason sent with the spend. */
  readonly reason: string | null
  /** Whether an earlier spend has this `id`. Nothing changed then, and the first outcome is returned. */
  readonly duplicate: boolean
  /** Effect on the points. */
  readonly points: {
    /** Points spent. */
    readonly spent: number
    /** Balance after this request. */
    readonly total: number
  }
}

/** An accepted backfill; `Location` has its progress. */
export interface StartedBackfill {
  /** The badge's id. */
  readonly badgeId: string
  /** Whether webhooks and streams report the awarded badges. */
  readonly notify: boolean
  /** Start of the backfill. */
  readonly startedAt: string
}

/** Progress in a step. */
export interface StepProgress {
  /** The key of the step. */
  readonly key: string
  /** Current count or sum, at most `target`. */
  readonly current: number
  /** Required count or sum. */
  readonly target: number
}

/** A streak: consecutive days, in the user's time zone, with a counted event. */
export interface Streak {
  /** Your key of the streak; users' days are stored under it. */
  readonly key: string
  /** Actions that count; empty: every action. */
  readonly actions: ReadonlyArray<string>
  readonly freezes: StreakFreezes
}

/** Freezes: each forgives one missed day. */
export interface StreakFreezes {
  /** Freezes of a new streak. */
  readonly initial: number
  /** Maximum number of freezes. */
  readonly max: number
  /** The streak gains a freeze at each multiple of this number of days; null: never. */
  readonly everyDays: number | null
}

/** The event's effect on a streak. */
export interface StreakOutcome {
  /** The key of the streak. */
  readonly key: string
  /** Current length in days. */
  readonly current: number
  /** Longest length in days. */
  readonly best: number
}

/** The state of a streak. */
export interface StreakProgress {
  /** Key of the streak. */
  readonly key: string
  /** Current days in a row; 0: broken. */
  readonly current: number
  /** Longest run in days. */
  readonly best: number
  /** The last day counted, in the user's time zone; null: none. */
  readonly lastDay: string | null
  /** Remaining freezes: missed days that are forgiven. */
  readonly freezes: number
}

/** A token to make. */
export interface TokenRequest {
  /** Lifetime of the token. Default 3600. The token ends no later than your key. */
  readonly expiresInSeconds?: number
}

/** A user with balances and badges. */
export interface User {
  /** Your id of the user: 1 to 128 characters, any Unicode except control characters, compared byte by byte. The ids `.` and `..` are refused, since URLs cannot hold them. */
  readonly id: string
  /** Name shown on leaderboards; null: none. */
  readonly displayName: string | null
  /** Canonical IANA time zone; null: the project's. */
  readonly timezone: string | null
  /** The user's custom attributes. */
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  /** Hidden from every leaderboard. */
  readonly hidden: boolean
  /** Experience points. */
  readonly xp: number
  /** The level that the xp reach; the lowest is 1. */
  readonly level: number
  /** Points, a balance separate from xp. */
  readonly points: number
  /** The user's badges. */
  readonly badges: ReadonlyArray<UserBadge>
  /** ISO 8601, UTC, with milliseconds. */
  readonly createdAt: string
  /** ISO 8601, UTC, with milliseconds. */
  readonly updatedAt: string
}

/** A badge of the user. */
export interface UserBadge {
  /** The badge's id. */
  readonly id: string
  /** The badge's name. */
  readonly name: string
  /** Description for people. */
  readonly description: string | null
  /** URL or emoji. */
  readonly icon: string | null
  /** ISO 8601, UTC, with milliseconds. */
  readonly earnedAt: string
}

/** Everything stored about a user. */
export interface UserExport {
  /** ISO 8601, UTC, with milliseconds. */
  readonly exportedAt: string
  readonly user: User
  readonly progress: Progress
  /** The stored state; times are epoch milliseconds. */
  readonly state: Readonly<Record<string, unknown>>
  /** The stored records, newest first: time, `cause` and `facts`. */
  readonly records: ReadonlyArray<Readonly<Record<string, unknown>>>
}

/** A page of users. */
export interface UserPage {
  /** In the order of ids. */
  readonly users: ReadonlyArray<User>
  /** Number of items on all pages. */
  readonly total: number
  /** Maximum number of items on this page. */
  readonly limit: number
  /** Number of items before this page. */
  readonly offset: number
  /** Whether more items follow this page. */
  readonly hasMore: boolean
}

/** A token of a user. */
export interface UserToken {
  /** The token: a JSON Web Token, whose `exp` is the expiry. Send it in place of a key, as `Authorization: Bearer <token>`. */
  readonly token: string
  /** ISO 8601, UTC, with milliseconds. */
  readonly expiresAt: string
}

/** A URL that receives messages. */
export interface Webhook {
  /** The webhook's id. */
  readonly id: string
  /** URL of the receiver. */
  readonly url: string
  /** Messages to send: kinds, families or all. */
  readonly events: ReadonlyArray<string>
  /** Description for people. */
  readonly description: string | null
  /** Whether messages are sent. */
  readonly status: "enabled" | "disabled"
  /** `gone`: the receiver answered 410. `failing`: five days of failures only. `manual`: disabled through the API. */
  readonly disabledReason: "gone" | "failing" | "manual" | null
  /** ISO 8601, UTC, with milliseconds. */
  readonly disabledAt: string | null
  /** ISO 8601, UTC, with milliseconds. */
  readonly createdAt: string
  /** ISO 8601, UTC, with milliseconds. */
  readonly updatedAt: string
}

/** A page of the webhooks. */
export interface WebhookPage {
  /** In the order of creation. */
  readonly webhooks: ReadonlyArray<Webhook>
  /** Number of items on all pages. */
  readonly total: number
  /** Maximum number of items on this page. */
  readonly limit: number
  /** Number of items before this page. */
  readonly offset: number
  /** Whether more items follow this page. */
  readonly hasMore: boolean
}

export interface WebhookPatch {
  /** URL of the receiver: http or https (https in production), a public address or one that the server allows with `LAUREL_WEBHOOK_ALLOW_CIDR`, no user name or password. The address is checked now and at every connection. */
  readonly url?: string
  /** The messages to send: kinds, families (`quest.*`), or all (`*`). Kinds: `event.tracked`, `xp.earned`, `xp.revoked`, `points.earned`, `points.revoked`, `points.spent`, `points.refunded`, `level.changed`, `badge.earned`, `badge.revoked`, `streak.extended`, `streak.broken`, `quest.started`, `quest.progressed`, `quest.completed`, `quest.expired`, `quest.created`, `quest.updated`, `reward.granted`, `reward.revoked`, `leaderboard.window_closed`, `user.created`, `user.deleted`, `webhook.disabled`, `webhook.test`; `GET /v1/webhook-events` describes them. */
  readonly events?: ReadonlyArray<string>
  /** Description for people. */
  readonly description?: string | null
  /** `disabled`: nothing is sent, and new messages are missed (`recover` sends them); pending deliveries resume when the webhook is enabled. */
  readonly status?: "enabled" | "disabled"
}

/** A rule that gave nothing. */
export interface WithheldReward {
  /** The rule's id. */
  readonly ruleId: string
  /** `limit`: the user has used up the limit in the period in which the event occurred; `cooldown`: the rule rewarded an event that occurred less than the cooldown before or after this one. */
  readonly reason: "limit" | "cooldown"
}

export interface XpGrant {
  readonly type: "xp"
  /** Amount to grant. */
  readonly amount: number
  /** Reason, kept in the user's history. */
  readonly reason?: string
  /** Your id of this event or reward. Repeating an id of the same user changes nothing and returns the first outcome. */
  readonly id?: string
}
