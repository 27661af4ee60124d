/** The limits of teams. `Limits.ts` includes them. */
export const teamLimits = {
  /** In an environment. */
  teamsMax: 100_000,
  /** Kinds of teams in an environment: a user is in at most one team of each. */
  teamKindsMax: 10,
  /** Teams in a chunk of the list of teams: the snapshot writes whole chunks. */
  teamChunkMax: 64,
} as const
