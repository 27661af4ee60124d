/** Decides the commands on currencies. `Draft.ts` credits them, `Revocation.ts` spends them. */
import { limits } from "../../Limits.ts"
import {
  type Currency,
  type CurrencyLevels,
  currencyDefaults,
  type Expiry,
  isBuiltIn,
  type NamedLevel,
  type Refill,
} from "../project/Currency.ts"
import { givesNothing, type New, type Status } from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import { isRefilling, withRefillBefore } from "../user/Refill.ts"
import { type Fault, type LaurelError, laurelError } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import {
  currencyInUse,
  givenReferenceFaults,
  isRanked,
  type Known,
  knownAs,
  mergedPart,
  metadataFaults,
} from "./definitionChecks.ts"
import { Decisions } from "./Kind.ts"
import { partFaults } from "./kindMembers.ts"
import { curveMembers } from "./Settings.ts"

/** A merge patch of a currency. */
export interface CurrencyChange
  extends Partial<
    Pick<
      Currency,
      "name" | "description" | "spendable" | "max" | "pendingDays" | "expiry" | "levels"
    >
  > {
  /** Merged member by member. */
  readonly earnLimit?: Partial<NonNullable<Currency["earnLimit"]>> | null
  readonly refill?: Partial<Refill> | null
  readonly metadata?: Metadata | null
  readonly status?: Extract<Status, "active" | "archived">
}

/** A currency without the members that have defaults. */
type SomeOf<A extends object> = Partial<Pick<A, keyof A & keyof typeof currencyDefaults>> &
  Omit<A, keyof typeof currencyDefaults>

type NewCurrency = SomeOf<New<Currency>>

export const currencies = new Decisions<"currency", NewCurrency, CurrencyChange, "in_use">({
  noun: "currency",
  max: limits.currenciesMax,
  archivedMax: limits.archivedCurrenciesMax,
  nameOf: ({ name }) => name,
  members: (given) => ({ ...currencyDefaults, ...given }),
  changed: (before, { earnLimit, refill, ...change }, faults) => ({
    ...change,
    earnLimit: mergedPart(before.earnLimit, earnLimit, ["amount", "per"], "/earnLimit", faults),
    refill: mergedPart(before.refill, refill, ["amount", "everyMinutes"], "/refill", faults),
  }),
  normal: (_, currency) => (currency.expiry === null ? currency : { ...currency, hadExpiry: true }),
  faults: (state, currency, { before, known }) => [
    ...faultsOf(currency, before),
    ...paymentFaults(state, currency, known),
    ...rankedFaults(state, currency),
  ],
  completed: (currency, before, now) =>
    before === undefined || currency.set === "archived"
      ? currency
      : withRefillBefore(before, currency, now),
  inUse: (state, currency) =>
    isBuiltIn(currency) ? builtInUse(currency) : currencyInUse(state, currency.key),
})

const builtInUse = ({ key }: Currency): LaurelError<"in_use"> =>
  laurelError("in_use", `The currency ${key} always exists and cannot be archived.`)

const faultsOf = (currency: Currency, before: Currency | undefined): ReadonlyArray<Fault> => {
  const faults = [...metadataFaults(currency.metadata)]
  if (isBuiltIn(currency) && currency.spendable !== (currency.key === "points")) {
    const detail = currency.spendable ? "must be false: xp cannot be spent" : "must be true"
    faults.push({ pointer: "/spendable", code: "invalid_value", detail })
  }
  if (currency.pendingDays !== null && !currency.spendable) {
    const detail = "is only for a spendable currency"
    faults.push({ pointer: "/pendingDays", code: "not_allowed", detail })
  }
  if (currency.refill !== null) faults.push(...refillFaults(currency))
  const hadRefill = before !== undefined && isRefilling(before)
  if (currency.levels !== null) faults.push(...levelFaults(currency, currency.levels, hadRefill))
  if (currency.expiry !== null) {
    faults.push(...expiryFaults(currency, currency.expiry, hadRefill))
  }
  return faults
}

/** A leaderboard ranks users by earned amounts, and a refill is not earned. */
const rankedFaults = (state: ProjectState, { key, refill }: Currency): ReadonlyArray<Fault> => {
  if (refill === null || !isRanked(state, key)) return []
  const detail = "is not allowed for a currency by which a leaderboard or a league ranks"
  return [{ pointer: "/refill", code: "not_allowed", detail }]
}

const refillFaults = (currency: Currency): ReadonlyArray<Fault> => {
  if (isBuiltIn(currency)) {
    return [
      { pointer: "/refill", code: "not_allowed", detail: `is not allowed for ${currency.key}` },
    ]
  }
  if (currency.hadExpiry === true) {
    const detail = "is not allowed for a currency that has or had an expiry"
    return [{ pointer: "/refill", code: "not_allowed", detail }]
  }
  if (currency.max === null) {
    return [{ pointer: "/max", code: "missing", detail: "is required with refill" }]
  }
  if (currency.max <= limits.refillMaxMax) return []
  const detail = `must be at most ${limits.refillMaxMax} with refill`
  return [{ pointer: "/max", code: "out_of_range", detail }]
}

/**
 * The levels of xp are those of the project's curve. A balance that refills has no record of its
 * growth, so nobody would be told of a level.
 */
const levelFaults = (
  { key, refill }: Currency,
  { curve, table }: CurrencyLevels,
  hadRefill: boolean,
): ReadonlyArray<Fault> => {
  const detail =
    key === "xp"
      ? "is not allowed for xp: the project's levelCurve has its levels"
      : refill !== null || hadRefill
        ? "is not allowed for a currency that has or had a refill"
        : undefined
  if (detail !== undefined) return [{ pointer: "/levels", code: "not_allowed", detail }]
  return table === undefined ? partFaults(curve, curveMembers, "/levels/curve") : tableFaults(table)
}

/** The faults of what levels pay. Everybody has a level that begins at 0, so nobody reaches it. */
const paymentFaults = (
  state: ProjectState,
  { key, levels }: Currency,
  known: Known | undefined,
): ReadonlyArray<Fault> => {
  const isKnown = (name: string) => name === knownAs("currency", key) || known?.has(name) === true
  return (levels?.table ?? []).flatMap(({ from, reward }, index) => {
    const pointer = `/levels/table/${index}/reward`
    if (from > 0 || givesNothing(reward)) {
      return givenReferenceFaults(state, reward, pointer, isKnown)
    }
    const detail = "is not allowed for a level from 0, which everybody has"
    return [{ pointer, code: "not_allowed", detail }]
  })
}

const tableFaults = (table: ReadonlyArray<NamedLevel>): ReadonlyArray<Fault> => {
  const keys = new Set<string>()
  return table.flatMap(({ from, key }, index) => {
    const pointer = `/levels/table/${index}`
    const faults: Array<Fault> = []
    if (keys.has(key)) {
      const detail = "is the key of another level"
      faults.push({ pointer: `${pointer}/key`, code: "duplicate", detail })
    }
    keys.add(key)
    if (index > 0 && from <= table[index - 1]!.from) {
      const detail = "must be above the level before"
      faults.push({ pointer: `${pointer}/from`, code: "out_of_range", detail })
    }
    return faults
  })
}

/**
 * What refilled has no lots, so a currency never has both. With a credit that ends before it can be
 * spent, nobody could buy anything.
 */
const expiryFaults = (
  { key, pendingDays, refill }: Currency,
  expiry: Expiry,
  hadRefill: boolean,
): ReadonlyArray<Fault> => {
  if (key === "xp") {
    const detail = "is not allowed for xp, whose sum is the score of the leaderboard"
    return [{ pointer: "/expiry", code: "not_allowed", detail }]
  }
  if (hadRefill && refill === null) {
    const detail = "is not allowed for a currency that had a refill"
    return [{ pointer: "/expiry", code: "not_allowed", detail }]
  }
  return Object.entries(expiry).flatMap(([name, days]) => {
    if (typeof days !== "number" || pendingDays === null || days > pendingDays) return []
    const detail = "must be more than pendingDays"
    return [{ pointer: `/expiry/${name}`, code: "out_of_range", detail }]
  })
}
