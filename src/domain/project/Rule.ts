import type { Condition } from "./Condition.ts"

export const limitPeriods = ["hour", "day", "week", "month", "ever"] as const
export type LimitPeriod = (typeof limitPeriods)[number]

/** What a rule, a quest or a hand gives. */
export interface Gives {
  readonly xp: number
  readonly points: number
  readonly badgeId: string | null
}

/**
 * A rule gives its reward for every event with its action whose metadata satisfies `where`, as long as it
 * is enabled. Rules are taken in the order of their creation; each that matches gives. Times are epoch milliseconds.
 */
export interface Rule {
  readonly id: string
  readonly action: string
  readonly where: ReadonlyArray<Condition>
  readonly reward: Gives
  /** xp and points are multiplied by the number at `path` of the metadata, kept within the bounds, and rounded down. */
  readonly multiplier: {
    readonly path: string
    readonly min: number
    readonly max: number
  } | null
  /** At most `times` per user in each period (of the project's time zone) in which events occurred. */
  readonly limit: { readonly times: number; readonly per: LimitPeriod } | null
  /** After it gave, it gives nothing to the same user for events that occurred sooner than this. */
  readonly cooldownSeconds: number | null
  readonly enabled: boolean
  readonly createdAt: number
  readonly updatedAt: number
}
