import type { Condition } from "./Condition.ts"

export const criterionKinds = [
  "xp",
  "level",
  "points",
  "action_count",
  "quest_count",
  "streak",
  "manual",
] as const
export type CriterionKind = (typeof criterionKinds)[number]

/** By what a badge is earned; all but `manual` by themselves, when the number reaches `target`. */
export type Criterion =
  | { readonly kind: "xp" | "level" | "points" | "quest_count"; readonly target: number }
  | {
      readonly kind: "action_count"
      readonly target: number
      readonly action: string
      readonly where: ReadonlyArray<Condition>
    }
  /** `streak`: the key of one streak, or null for whichever. */
  | { readonly kind: "streak"; readonly target: number; readonly streak: string | null }
  | { readonly kind: "manual" }

/** A badge's definition. An archived one is earned no more and stays with those who have it. Times are epoch milliseconds. */
export interface Badge {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly icon: string | null
  readonly criteria: Criterion
  /** Shown to a user only once it is earned. */
  readonly secret: boolean
  readonly archived: boolean
  readonly createdAt: number
  readonly updatedAt: number
}

/** The number at which a badge is earned; 0 for one that is given by hand. */
export const targetOf = ({ criteria }: Badge): number =>
  criteria.kind === "manual" ? 0 : criteria.target
