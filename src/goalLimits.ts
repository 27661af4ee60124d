/** The limits of shared goals. `Limits.ts` includes them. */
export const goalLimits = {
  /** In an environment, without archived ones, and archived ones. */
  goalsMax: 20,
  archivedGoalsMax: 100,
  goalTargetMax: 100_000_000_000,
  /** Completions of one goal that one record has, after an edit of the target. */
  goalCompletionsMax: 500,
  /** Days for which a goal keeps its contributions by day. */
  goalDaysMax: 128,
  /** Contributors of a goal that a list has. */
  goalContributorsMax: 100,
  /** How long after a defect the rewards of a goal are tried again. */
  goalRetryMs: 90_000,
} as const
