/**
 * The shared state of an environment: settings and definitions. User actors read it as one
 * immutable value, so an event sees either the whole of a change or nothing of it. With
 * `ActionIndex.ts` the cost of an event does not depend on the number of definitions.
 */
import type { PastZone } from "../values/Calendar.ts"
import type { BoardCloses } from "./BoardClose.ts"
import { builtInBoards } from "./BoardDefinition.ts"
import { builtInCurrencies } from "./Currency.ts"
import type { Versioned } from "./Definition.ts"
import type { DefinitionMaps } from "./Kinds.ts"
import type { LeagueClose } from "./League.ts"
import { defaultLevelCurve, type LevelCurve } from "./Level.ts"
import type { Payout } from "./Payout.ts"
import type { PreviousSecret } from "./PreviousSecret.ts"
import type { SourceSecrets } from "./Source.ts"
import { noTeams, type Teams } from "./Team.ts"

/**
 * Why a webhook is disabled: `gone`: it answered 410; `failing`: it only failed for
 * `webhookFailingMs`; `manual`: by a person.
 */
export type DisabledReason = "gone" | "failing" | "manual"

/** A registered endpoint. Times are epoch milliseconds. */
export interface Webhook extends Versioned {
  readonly id: string
  /**
   * The sequence of the record that created the webhook, which receives only later records. Unique
   * among webhooks.
   */
  readonly since: number
  readonly url: string
  /** Kinds of message, families such as `quest.*`, or `*`. */
  readonly events: ReadonlyArray<string>
  readonly description: string | null
  readonly status: "enabled" | "disabled"
  readonly disabledReason: DisabledReason | null
  readonly disabledAt: number | null
  /** The secret that signs the messages (`whsec_…`). */
  readonly secret: string
  /**
   * The previous secret also signs until its grace period ends, so that receivers can change to the
   * new one.
   */
  readonly previousSecret: PreviousSecret | null
  /**
   * Earlier secrets that are still in their grace period, newest first; absent if there are none.
   */
  readonly olderSecrets?: ReadonlyArray<PreviousSecret>
}

export interface ProjectSettings {
  /** 1 before the first change, and one more with each change. */
  readonly version: number
  /** The display name; null: the name in the directory. */
  readonly name: string | null
  /** The IANA time zone of days, weeks and months. */
  readonly timezone: string
  readonly levelCurve: LevelCurve
  /** The actions that users may send with a user token; absent: none. */
  readonly clientActions?: ReadonlyArray<string>
  /** Absent: none. */
  readonly reminders?: Reminders
}

/** The messages that users stay away (`user/Absence.ts`), and of what ends (`user/Reminder.ts`). */
export interface Reminders {
  /** The hour of the user's clock at which they are sent, 0 to 23. */
  readonly hour: number
  /** The days since the user's last active day, ascending; none: no such messages. */
  readonly inactiveDays: ReadonlyArray<number>
  /** How many days before the end of a quest, of an amount, and of a window of a league; absent: no such messages. */
  readonly questDays?: number
  readonly expiryDays?: number
  readonly leagueDays?: number
  /** Users whose attribute with this name is `true` get none; null: all get them. */
  readonly unless: string | null
}

/**
 * A backfill: the award of a badge to users who already qualify, or the count of a metric from
 * before it was created. Times are epoch milliseconds.
 */
export interface BackfillState {
  readonly notify: boolean
  readonly startedAt: number
  readonly finishedAt: number | null
  readonly checked: number
  readonly awarded: number
}

/**
 * The test clock of a sandbox: how far the environment's time is ahead of the server's. An advance
 * leads the time to `target` in steps, and decides at each step what has become due.
 */
export interface TestClock {
  /** In milliseconds. Never falls: the environment's time never goes back. */
  readonly aheadMs: number
  /** The environment's time to which the latest advance leads, epoch milliseconds. */
  readonly target: number
  /** `ready`: all that became due by `target` is decided. */
  readonly status: "advancing" | "ready"
}

export interface ProjectState extends DefinitionMaps {
  /** The sequence of the last record applied. */
  readonly sequence: number
  /** The sequence of the last record that may have moved due times of users (`Progress.ts`). */
  readonly dueSequence: number
  /** 1 at first, and one more with each record that changes a definition or the settings. */
  readonly definitionsVersion: number
  readonly settings: ProjectSettings
  /** The former time zones; absent: the time zone never changed. */
  readonly pastZones?: ReadonlyArray<PastZone<string>>
  readonly webhooks: ReadonlyMap<string, Webhook>
  /** By the id of the source. No archived source is among them. */
  readonly sourceSecrets: ReadonlyMap<string, SourceSecrets>
  readonly teams: Teams
  /** The latest backfill of each badge and each metric that is not archived, by its id. */
  readonly backfills: ReadonlyMap<string, BackfillState>
  /**
   * What has closed of each leaderboard. A closed window never reopens, even after a change of time
   * zone.
   */
  readonly boardCloses: BoardCloses
  /** By the id of the league; one that closed no window is absent. */
  readonly leagueCloses: ReadonlyMap<string, LeagueClose>
  /** What is to be paid in the background, by its id, in the order in which it is paid. */
  readonly payouts: ReadonlyMap<string, Payout>
  /** Absent: the environment's time is the server's. */
  readonly testClock?: TestClock
}

/** How far the environment's time is ahead of the server's, in milliseconds. */
export const aheadMsOf = ({ testClock }: ProjectState): number => testClock?.aheadMs ?? 0

/** The environment's time when the server's is `at`. Epoch milliseconds. */
export const timeIn = (project: ProjectState, at: number): number => at + aheadMsOf(project)

export const isAdvancing = ({ testClock }: ProjectState): boolean =>
  testClock?.status === "advancing"

export const defaultSettings: ProjectSettings = {
  version: 1,
  name: null,
  timezone: "UTC",
  levelCurve: defaultLevelCurve,
}

export const emptyProject: ProjectState = {
  sequence: 0,
  dueSequence: 0,
  definitionsVersion: 1,
  settings: defaultSettings,
  quests: new Map(),
  rules: new Map(),
  badges: new Map(),
  boosts: new Map(),
  currencies: builtInCurrencies,
  segments: new Map(),
  metrics: new Map(),
  streaks: new Map(),
  leaderboards: builtInBoards,
  experiments: new Map(),
  leagues: new Map(),
  items: new Map(),
  goals: new Map(),
  sources: new Map(),
  sourceSecrets: new Map(),
  webhooks: new Map(),
  teams: noTeams,
  backfills: new Map(),
  payouts: new Map(),
  boardCloses: new Map(),
  leagueCloses: new Map(),
}
