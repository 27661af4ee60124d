/** The limits of leagues. `Limits.ts` includes them. */
export const leagueLimits = {
  /** In an environment, without archived ones, and archived ones. */
  leaguesMax: 10,
  archivedLeaguesMax: 100,
  leagueDivisionsMax: 20,
  leagueCohortSizeMin: 2,
  leagueCohortSizeMax: 100,
  leagueGraceMinutesMax: 720,
  leagueRewardsMax: 60,
  /** Past windows of a league that a user's state keeps. */
  leagueResultsKept: 8,
  /** Users whose settling is asked for together. */
  leagueSettledMax: 200,
  /** Ranks of users who are gone that are kept for the latest closed window. */
  leagueLostSeatsMax: 10_000,
  /** How long after a refusal a user is settled again. */
  leagueRetryMs: 5_000,
  /** Users of a league must have refused for `leagueLateMs` before its next window closes without them: at most `leagueLateMax`. */
  leagueLateMs: 60_000,
  leagueLateMax: 500,
} as const
