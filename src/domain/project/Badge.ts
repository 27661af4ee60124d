import type { Condition } from "./Condition.ts"

export const criterionKinds = [
  "xp",
  "level",
  "points",
  "action_count",
  "action_sum",
  "quest_count",
  "streak",
  "manual",
] as const
export type CriterionKind = (typeof criterionKinds)[number]

/** The criterion of a badge. All kinds but `manual` award it when their number reaches `target`. */
export type Criterion =
  | { readonly kind: "xp" | "level" | "points" | "quest_count"; readonly target: number }
  | {
      readonly kind: "action_count"
      readonly target: number
      readonly action: string
      readonly where: ReadonlyArray<Condition>
      readonly sumPath?: never
    }
  /** The sum of the numbers at `sumPath` of the metadata of matching events. */
  | {
      readonly kind: "action_sum"
      readonly target: number
      readonly action: string
      readonly where: ReadonlyArray<Condition>
      readonly sumPath: string
    }
  /** `streak`: the key of a streak, or null for any streak. */
  | { readonly kind: "streak"; readonly target: number; readonly streak: string | null }
  | { readonly kind: "manual" }

/** A criterion that counts events or sums a number of theirs. */
export type CountingCriterion = Extract<Criterion, { readonly action: string }>

export const isCounting = (criteria: Criterion): criteria is CountingCriterion =>
  criteria.kind === "action_count" || criteria.kind === "action_sum"

/** A badge's definition. An archived badge is no longer awarded; users keep it. Times are epoch milliseconds. */
export interface Badge {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly icon: string | null
  readonly criteria: Criterion
  /** Hidden from a user until earned. */
  readonly secret: boolean
  readonly archived: boolean
  readonly createdAt: number
  readonly updatedAt: number
}

/** The number at which a badge is earned; 0 for a manual badge. */
export const targetOf = ({ criteria }: Badge): number =>
  criteria.kind === "manual" ? 0 : criteria.target
