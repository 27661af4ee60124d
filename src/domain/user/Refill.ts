/**
 * Balances that grow with time: a currency with `refill` adds its amount to a balance every so many
 * minutes, up to `max`.
 *
 * No timer runs and nobody is visited: a balance is computed from the stored one when a decision or
 * a read asks for it. The stored one has `since`, the time from which the next amount is waited for.
 * A decision that changes the balance records what was added before it (`currency.refilled`), so
 * `apply` needs no definition.
 *
 * An edit of the definition changes no balance: the definition keeps its former values
 * (`refillBefore`), and what was waited for before the edit is computed with these. The timer of
 * the next amount restarts at the edit. A balance at or above `max` has no timer.
 *
 * The wait of a user begins with 0 when the user or the currency was created, whichever came last.
 */

import { limits } from "../../Limits.ts"
import { type Currency, isBuiltIn } from "../project/Currency.ts"
import { definitionWithKey } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { endedOf } from "./Expiry.ts"
import { type Balance, balanceOf, type UserState } from "./User.ts"

const minuteMs = 60_000

/** A balance as of a moment. */
export interface PresentBalance extends Balance {
  /** What was added since the stored balance. */
  readonly refilled: number
}

type Refilling = Pick<Currency, "createdAt" | "max" | "refill" | "refillBefore">

export const isRefilling = ({ refill, refillBefore }: Refilling): boolean =>
  refill !== null || refillBefore !== undefined

/**
 * The user's balance of the currency with this key at `now`: with what was added since the stored
 * one, and without what has expired since. No currency has both (`decide/CurrencyDefinitions.ts`).
 */
export const balanceAt = (
  user: UserState | undefined,
  project: ProjectState,
  key: string,
  now: number,
): PresentBalance => {
  const stored = balanceOf(user, key)
  const { currencies } = project
  const currency = definitionWithKey(currencies, key)
  if (user === undefined || currency === undefined || !isRefilling(currency)) {
    const amount = stored.amount - endedOf(user, project, key, now)
    return { ...stored, amount, refilled: 0 }
  }
  const since = stored.since ?? Math.max(user.createdAt, currency.createdAt)
  const present = refilledAt(currency, { amount: stored.amount, since }, now)
  return { ...stored, ...present, refilled: present.amount - stored.amount }
}

interface Waiting {
  readonly amount: number
  readonly since: number
}

/** The balance at `now` of one that was `amount` when its wait began. */
export const refilledAt = (
  { max, refill, refillBefore = [] }: Refilling,
  from: Waiting,
  now: number,
): Waiting => {
  let { amount, since } = from
  for (const span of [...refillBefore, { max, refill, until: Number.POSITIVE_INFINITY }]) {
    if (span.until <= since) continue
    const end = Math.min(span.until, now)
    const isWaiting = span.refill !== null && span.max !== null && amount < span.max
    if (isWaiting) {
      const everyMs = span.refill.everyMinutes * minuteMs
      const times = Math.max(0, Math.floor((end - since) / everyMs))
      const isFull = times >= timesToFull(span.max - amount, span.refill)
      amount = isFull ? span.max : amount + times * span.refill.amount
      since = isFull ? end : since + times * everyMs
    }
    // An edit restarts the timer, and a full balance has none.
    if (!isWaiting || end < now) since = Math.max(since, end)
    if (end === now) break
  }
  return { amount, since }
}

const timesToFull = (missing: number, refill: NonNullable<Currency["refill"]>): number =>
  Math.ceil(missing / refill.amount)

/** When a balance grows next and when it is full; null: it is full. */
export interface RefillTimes {
  readonly amount: number
  readonly nextAt: number | null
  readonly fullAt: number | null
}

/** The times of the user's balances of active currencies with `refill`; `undefined`: there are none. */
export const refillTimes = (
  user: UserState,
  project: ProjectState,
  now: number,
): { readonly [key: string]: RefillTimes } | undefined => {
  const times: Array<readonly [string, RefillTimes]> = []
  for (const { key, max, refill, set } of project.currencies.values()) {
    if (refill === null || max === null || set === "archived") continue
    const { amount, since = now } = balanceAt(user, project, key, now)
    const everyMs = refill.everyMinutes * minuteMs
    const waits = timesToFull(max - amount, refill)
    const isFull = waits <= 0
    times.push([
      key,
      {
        amount: refill.amount,
        nextAt: isFull ? null : since + everyMs,
        fullAt: isFull ? null : since + waits * everyMs,
      },
    ])
  }
  return times.length === 0 ? undefined : Object.fromEntries(times)
}

/** The member of a fact that says from when the balance after it waits. */
export const waiting = ({
  since,
}: {
  readonly since?: number | undefined
}): { readonly since?: number } => (since === undefined ? nothing : { since })

const nothing = {}

/** The keys of the active currencies with a refill: every user has a balance of these. */
export const refillingKeys = ({ currencies }: ProjectState): ReadonlyArray<string> => {
  let keys = known.get(currencies)
  if (keys === undefined) {
    keys = [...currencies.values()]
      .filter((currency) => currency.set === "published" && isRefilling(currency))
      .map(({ key }) => key)
    known.set(currencies, keys)
  }
  return keys
}

const known = new WeakMap<ProjectState["currencies"], ReadonlyArray<string>>()

/** The currency after an edit, with the former values of its refill. */
export const withRefillBefore = (before: Currency, after: Currency, now: number): Currency => {
  const isSame =
    before.max === after.max &&
    before.refill?.amount === after.refill?.amount &&
    before.refill?.everyMinutes === after.refill?.everyMinutes
  if (isSame || isBuiltIn(after) || (after.refill === null && !isRefilling(before))) return after
  const { max, refill, refillBefore = [] } = before
  const spans = [...refillBefore, { max, refill, until: now }]
  const forgotten = spans.length - limits.refillEditsMax
  if (forgotten <= 0) return { ...after, refillBefore: spans }
  // What was waited for in a forgotten span is lost, and nothing is added in its place.
  const [oldest, ...others] = spans.slice(forgotten)
  return { ...after, refillBefore: [{ ...oldest!, max: null, refill: null }, ...others] }
}
