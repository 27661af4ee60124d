import type { Gives } from "./Definition.ts"

/** What a reward gives so many times. */
export const multiplied = (gives: Gives, times: number): Gives => {
  const { boost, currencies = {}, freezes = {}, points, xp } = gives
  const each = (amounts: NonNullable<Gives["currencies"]>) =>
    Object.fromEntries(Object.entries(amounts).map(([key, amount]) => [key, amount * times]))
  return {
    xp: xp * times,
    points: points * times,
    currencies: each(currencies),
    badgeId: null,
    freezes: each(freezes),
    // Several at once give one boost.
    ...(boost !== undefined && { boost }),
  }
}
