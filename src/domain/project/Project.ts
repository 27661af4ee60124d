/**
 * The state that one environment of a project shares: settings and definitions. User actors read it as one immutable
 * value, so an event sees either all of a definition or none of it; `ActionIndex.ts` keeps the cost of an event
 * flat however many definitions there are.
 */
import type { PastZone, WindowKind } from "../values/Calendar.ts"
import type { Badge, Quest, Rule } from "./Definition.ts"
import { defaultLevelCurve, type LevelCurve } from "./Level.ts"

/** Why a webhook is disabled: it answered 410; only failures for `webhookFailingMs`; by hand. */
export type DisabledReason = "gone" | "failing" | "manual"

/** A replaced secret, and the end of its grace period. */
export interface PreviousSecret {
  readonly secret: string
  readonly until: number
}

/** A registered endpoint. Times are epoch milliseconds. */
export interface Webhook {
  readonly id: string
  /** The sequence of the record that created it: it receives later records only. Unique among webhooks. */
  readonly since: number
  readonly url: string
  /** Kinds, families such as `quest.*`, or `*`. */
  readonly events: ReadonlyArray<string>
  readonly description: string | null
  readonly status: "enabled" | "disabled"
  readonly disabledReason: DisabledReason | null
  readonly disabledAt: number | null
  /** Signs its messages (`whsec_…`). */
  readonly secret: string
  /** Also signs until its grace period ends, so that receivers can change over. */
  readonly previousSecret: PreviousSecret | null
  /** Earlier secrets in their grace period, newest first; absent if none. */
  readonly olderSecrets?: ReadonlyArray<PreviousSecret>
  readonly createdAt: number
  readonly updatedAt: number
}

/** A streak: consecutive local days, each with an event that counts (`user/Streak.ts`). */
export interface StreakDefinition {
  readonly key: string
  /** The actions that count; empty: every action. */
  readonly actions: ReadonlyArray<string>
  /** Forgiven missed days: the initial number, the maximum, and the days after which a streak gains one. */
  readonly freezes: {
    readonly initial: number
    readonly max: number
    readonly everyDays: number | null
  }
  /** What `freezes` was before edits, each until a moment, oldest first; absent: it was never edited. */
  readonly freezesBefore?: ReadonlyArray<{
    readonly freezes: StreakDefinition["freezes"]
    readonly until: number
  }>
}

export interface ProjectSettings {
  /** Display name; null: the name in the directory. */
  readonly name: string | null
  /** The IANA time zone of its days, weeks and months. */
  readonly timezone: string
  readonly levelCurve: LevelCurve
  readonly streaks: ReadonlyArray<StreakDefinition>
  /** The actions that users may send themselves, with a user token; absent: none. */
  readonly clientActions?: ReadonlyArray<string>
}

/** A backfill: the award of a badge to users who already qualify. Times are epoch milliseconds. */
export interface BackfillState {
  readonly notify: boolean
  readonly startedAt: number
  readonly finishedAt: number | null
  readonly checked: number
  readonly awarded: number
}

export interface ProjectState {
  /** The sequence of the last record applied. */
  readonly sequence: number
  /** The sequence of the last record that may have moved due times of users (`Progress.ts`). */
  readonly dueSequence: number
  readonly settings: ProjectSettings
  /** The time zones before the present one; absent: it was never changed. */
  readonly pastZones?: ReadonlyArray<PastZone<string>>
  readonly quests: ReadonlyMap<string, Quest>
  readonly rules: ReadonlyMap<string, Rule>
  readonly badges: ReadonlyMap<string, Badge>
  readonly webhooks: ReadonlyMap<string, Webhook>
  /** The latest backfill of each badge that is not archived. */
  readonly backfills: ReadonlyMap<string, BackfillState>
  /** The index of the latest closed window of each kind. A closed window never reopens, even after a change of time zone. */
  readonly closedThrough: Readonly<Record<WindowKind, number>>
}

export const defaultSettings: ProjectSettings = {
  name: null,
  timezone: "UTC",
  levelCurve: defaultLevelCurve,
  streaks: [],
}

/** Before every window. */
const neverClosed = Number.MIN_SAFE_INTEGER

export const emptyProject: ProjectState = {
  sequence: 0,
  dueSequence: 0,
  settings: defaultSettings,
  quests: new Map(),
  rules: new Map(),
  badges: new Map(),
  webhooks: new Map(),
  backfills: new Map(),
  closedThrough: { daily: neverClosed, weekly: neverClosed, monthly: neverClosed },
}
