/** The limits of recaps. `Limits.ts` includes them. */
export const recapLimits = {
  /** The days between the first and the last day: a year and more. */
  recapDaysMax: 400,
  /** The records that a recap is read from. */
  recapRecordsMax: 20_000,
  /** The actions, the firsts and the badges that a recap lists. */
  recapActionsMax: 10,
  recapBadgesMax: 50,
  /** The users that the recap of an environment lists. */
  recapTopUsersMax: 10,
}
