/** The limits of experiments. `Limits.ts` includes them. */
export const experimentLimits = {
  /** In an environment, without archived ones, and archived ones. */
  experimentsMax: 50,
  archivedExperimentsMax: 1_000,
  experimentVariantsMin: 2,
  experimentVariantsMax: 10,
  experimentWeightMax: 1_000,
  /** The results that are kept in memory, per environment. */
  experimentResultsKept: 200,
  /** The longest wait of a list of experiments for their first results. */
  experimentListWaitMs: 200,
  /** Below so many users of a variant, its interval says little. */
  experimentUsersMin: 100,
} as const
