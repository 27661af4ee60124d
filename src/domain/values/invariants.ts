/**
 * Assertions of invariants whose breach would cost data. They are always on.
 *
 * Each invariant is asserted in pairs: where a command is decided (`decide/`), and where its record
 * is applied to the state (`record/`). The engine applies a record before it appends it to the
 * journal, and again whenever it reads it back. A breach throws `BrokenInvariant`. On the way to
 * the journal the actor fails: its caller gets `internal_error`, nothing is written, and the actor
 * restarts from its durable state. On the way back the state is not loaded, so no command is
 * decided on it.
 *
 * Cost: a few comparisons of numbers. Nothing is allocated unless an assertion fails.
 */

export class BrokenInvariant extends Error {
  override readonly name = "BrokenInvariant"
}

/** A balance is a safe integer of at least 0. `what` names the balance in the error. */
export const assertBalance = (what: string, balance: number): void => {
  if (Number.isSafeInteger(balance) && balance >= 0) return
  throw new BrokenInvariant(`The balance of ${what} would be ${balance}`)
}

/** So are the balance of a currency, what was spent of it, and both together. */
export const assertBalances = (key: string, amount: number, spent: number): void => {
  const earned = amount + spent
  const areWhole = Number.isSafeInteger(amount) && Number.isSafeInteger(spent)
  if (areWhole && Number.isSafeInteger(earned) && amount >= 0 && spent >= 0) return
  assertBalance(key, amount)
  assertBalance(`spent ${key}`, spent)
  assertBalance(`earned ${key}`, earned)
}

/** What expires of a currency is exactly what the lots have that ended. */
export const assertLots = (what: string, amount: number, ended: number): void => {
  if (amount === ended && amount > 0) return
  throw new BrokenInvariant(`${ended} of ${what} ended, not ${amount}`)
}

/** What ends of a balance is at most the balance. */
export const assertPart = (what: string, part: number, whole: number): void => {
  if (part > 0 && part <= whole) return
  throw new BrokenInvariant(`${part} of ${whole} ${what} would end`)
}

/** The total of a metric is a safe integer, and that which its record names. */
export const assertTotal = (
  metricId: string,
  total: number | null,
  reached: number | null,
): void => {
  if (total === reached && (total === null || Number.isSafeInteger(total))) return
  throw new BrokenInvariant(`The total of ${metricId} would be ${reached}, not ${total}`)
}

/** A record comes after the last record that the state has. */
export const assertAfter = (sequence: number, last: number): void => {
  if (Number.isSafeInteger(sequence) && sequence > last) return
  throw new BrokenInvariant(`Record ${sequence} does not come after record ${last}`)
}

/**
 * A reward or a spend names the user's record of its kind before it, or 0 for none. The lists of
 * rewards and spends follow these names: a wrong one would hide records.
 */
export const assertBehind = (
  what: string,
  sequence: number,
  before: number,
  last: number,
): void => {
  if (before === last) return
  throw new BrokenInvariant(`Record ${sequence} names ${before} as the last ${what}, not ${last}`)
}

/**
 * A window closes once, and after all earlier windows of its kind: a closed board never changes.
 */
export const assertCloses = (kind: string, index: number, closedThrough: number): void => {
  if (Number.isSafeInteger(index) && index > closedThrough) return
  throw new BrokenInvariant(`The ${kind} window ${index} would close after window ${closedThrough}`)
}

/** No version of a definition is left out or given twice: a version names one form of it. */
export const assertNextVersion = (what: string, version: number, before = 0): void => {
  if (Number.isSafeInteger(version) && version === before + 1) return
  throw new BrokenInvariant(`Version ${version} of ${what} would follow version ${before}`)
}

/** The time of an environment never goes back, and only that of a sandbox is ahead. */
export const assertForward = (environment: string, aheadMs: number, before: number): void => {
  if (Number.isSafeInteger(aheadMs) && aheadMs >= before && environment.endsWith(":sandbox")) return
  throw new BrokenInvariant(
    `The time of ${environment} would be ${aheadMs} ms ahead, after ${before} ms`,
  )
}

/** A record of a user is applied to the state of the same user. The error does not name them. */
export const assertOwner = (userId: string, owner: string, sequence: number): void => {
  if (userId === owner) return
  throw new BrokenInvariant(`Record ${sequence} would be applied to another user`)
}

/** A user has one place in a league that is not settled, and a fact fits this place. */
export const assertInLeague = (leagueId: string, holds: boolean): void => {
  if (holds) return
  throw new BrokenInvariant(`A record does not fit the place in the league ${leagueId}`)
}

/** A merge freezes a user once, ends once, and takes in only users who are not frozen. */
export const assertMerge = (userId: string, holds: boolean): void => {
  if (holds) return
  throw new BrokenInvariant(`A record of a merge does not fit the state of ${userId}`)
}
