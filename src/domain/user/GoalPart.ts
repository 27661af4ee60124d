/**
 * What a user contributed to a shared goal (`decide/Goals.ts`), and whether its reward is due to the user.
 *
 * The reward of a team's goal is due to who was in the team at the completion. A state knows the present
 * teams only, and a payment may be late. So while rewards of a place are owed:
 * - a member who leaves the team keeps the claim (`kept`),
 * - a user who joins the team had not been in it at the completion, and has none (`missed`).
 *
 * Invariant: the list of a team has each user with a kept part (`listedTeams`), so that the payment
 * finds the user. A team that is deleted meanwhile takes no claim away.
 */

/** Whose target it is. `team`: the number of the team; absent: everyone's. */
export interface GoalPlace {
  readonly goalId: string
  /** The index of the window of a recurring goal; 0 for other goals. */
  readonly period: number
  readonly team?: number
}

export interface GoalPart {
  readonly period: number
  /** The number of the team; 0: everyone's. */
  readonly team: number
  /** Scaled by the decimals of the metric. */
  readonly amount: number
  /** The record that began it. */
  readonly since: number
  /** The user has the reward. */
  readonly paid: boolean
  /** Absent: the present team decides. */
  readonly claim?: "kept" | "missed"
}

/** The latest is last. The others wait for their reward. */
export type GoalParts = ReadonlyArray<GoalPart>

export const noParts: GoalParts = []

export const isPartOf = (
  part: Pick<GoalPart, "period" | "team">,
  { period, team = 0 }: Pick<GoalPlace, "period" | "team">,
): boolean => part.period === period && part.team === team

export const partOf = (
  parts: GoalParts | undefined,
  place: Pick<GoalPlace, "period" | "team">,
): GoalPart | undefined => parts?.find((part) => isPartOf(part, place))

export const withClaim = (
  { claim: _, ...part }: GoalPart,
  claim: GoalPart["claim"] | null,
): GoalPart => (claim == null ? part : { ...part, claim })

/** Whether the reward of a complete place is due to the user, unless the part is too small. */
export const hasClaim = (
  { teams }: { readonly teams: ReadonlyMap<string, { readonly number: number }> },
  { claim, team }: GoalPart,
): boolean => {
  if (claim !== undefined) return claim === "kept"
  return team === 0 || teams.values().some(({ number }) => number === team)
}

/** What two users who became one contributed together. Who was paid is not paid again. */
export const unitedParts = (mine: GoalParts, theirs: GoalParts): GoalParts => {
  const united = [...mine]
  for (const part of theirs) {
    const at = united.findIndex((one) => isPartOf(one, part))
    const own = united[at]
    if (own === undefined) {
      // The user who stays keeps its latest part, unless it has none.
      united.unshift(part)
      continue
    }
    united[at] = {
      ...own,
      amount: own.amount + part.amount,
      since: Math.min(own.since, part.since),
      paid: own.paid || part.paid,
    }
  }
  return united
}
