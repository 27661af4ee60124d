import type { Condition } from "./Condition.ts"

export const limitPeriods = ["hour", "day", "week", "month", "ever"] as const
export type LimitPeriod = (typeof limitPeriods)[number]

/** The reward of a rule, a quest or a grant by hand. */
export interface Gives {
  readonly xp: number
  readonly points: number
  readonly badgeId: string | null
}

/** Whether a reward is none at all. */
export const givesNothing = ({ badgeId, points, xp }: Partial<Gives>): boolean =>
  (xp ?? 0) === 0 && (points ?? 0) === 0 && (badgeId ?? null) === null

/** What users' states count of a rule's uses: those of each period, or only the times; `undefined`: nothing. */
export const countedForm = ({
  cooldownSeconds,
  limit,
}: Pick<Rule, "cooldownSeconds" | "limit">): LimitPeriod | "times" | undefined =>
  limit?.per ?? (cooldownSeconds === null ? undefined : "times")

/**
 * An enabled rule gives its reward for every event with its action whose metadata satisfies `where`. All matching rules
 * give, in the order of their creation. Times are epoch milliseconds.
 */
export interface Rule {
  readonly id: string
  readonly action: string
  readonly where: ReadonlyArray<Condition>
  readonly reward: Gives
  /** Multiplies xp and points by the number at `path` of the metadata, clamped to the bounds, rounded down. */
  readonly multiplier: {
    readonly path: string
    readonly min: number
    readonly max: number
  } | null
  /** At most `times` per user and period of the project's time zone, by the time of the event. */
  readonly limit: { readonly times: number; readonly per: LimitPeriod } | null
  /** Minimum time between two events of a user that the rule rewards, whichever arrives first. */
  readonly cooldownSeconds: number | null
  /** When an edit last changed what users' states count of its uses (`countedForm`); absent: never. */
  readonly countedSince?: number
  readonly enabled: boolean
  readonly createdAt: number
  readonly updatedAt: number
}
