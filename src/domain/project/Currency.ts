/**
 * Currencies: what users earn, and what they spend if the currency is spendable. `xp` and `points`
 * always exist; xp alone make levels and board scores. A currency has only the statuses `active` and
 * `archived`, and no period.
 *
 * A user's state has balances by the key of the currency (`user/User.ts`), so an archived currency
 * keeps its key for ever: it is never dropped (`archivedCurrenciesMax`).
 */
import type { LimitPeriod } from "../values/Periods.ts"
import { type Definition, defaults, type Gives, givesNothing, type Reward } from "./Definition.ts"
import { definitionWithKey } from "./DefinitionKey.ts"
import type { LevelCurve } from "./Level.ts"

export interface Currency extends Definition {
  readonly name: string
  readonly spendable: boolean
  /** A credit raises the balance at most to this amount; null: to any. */
  readonly max: number | null
  /** The most that a user is credited for what occurred in one period of the user's calendar. */
  readonly earnLimit: { readonly amount: number; readonly per: EarnPeriod } | null
  readonly refill: Refill | null
  /** A credit becomes spendable so many days after the day of the event (`user/Lots.ts`). */
  readonly pendingDays: number | null
  /** When a credit ends (`user/Expiry.ts`); null: never. */
  readonly expiry: Expiry | null
  /** Named levels of users (`user/CurrencyLevel.ts`); null: none. */
  readonly levels: CurrencyLevels | null
  /** The currency has or had an `expiry`; absent: never. */
  readonly hadExpiry?: true
  /** The former values, oldest first, each until the time of an edit; absent: never any `refill`. */
  readonly refillBefore?: ReadonlyArray<
    Pick<Currency, "max" | "refill"> & { readonly until: number }
  >
}

/** Adds `amount` to a balance every so many minutes, up to `max` (`user/Refill.ts`). */
export interface Refill {
  readonly amount: number
  readonly everyMinutes: number
}

/**
 * Levels that compare the earned amount or the balance. Of a balance that expires each year (`yearlyOn`),
 * a level is a status that users must earn again. A table has named levels; levels of a curve have no
 * names.
 */
export type CurrencyLevels = { readonly of: LevelBasis } & (
  | {
      /** Lowest first. Their `from` strictly increase. */
      readonly table: ReadonlyArray<NamedLevel>
      readonly curve?: never
    }
  | { readonly table?: never; readonly curve: LevelCurve }
)

export const levelBases = ["earned", "balance"] as const
export type LevelBasis = (typeof levelBases)[number]

export interface NamedLevel {
  readonly key: string
  readonly name: string
  /** The amount at which it begins. */
  readonly from: number
  readonly icon: string | null
  /** What it pays a user once, ever. */
  readonly reward: Gives
}

/**
 * A credit ends so many days after the day of the event, or after the day of the user's last event,
 * or with the next day of this month and date (`MM-DD`).
 */
export type Expiry =
  | { readonly afterDays: number }
  | { readonly inactivityDays: number }
  | { readonly yearlyOn: string }

export const earnPeriods = ["day", "week", "month"] as const satisfies ReadonlyArray<LimitPeriod>
export type EarnPeriod = (typeof earnPeriods)[number]

/** The members of a currency that says nothing of them. */
export const currencyDefaults = {
  ...defaults,
  spendable: true,
  max: null,
  earnLimit: null,
  refill: null,
  pendingDays: null,
  expiry: null,
  levels: null,
} as const

const builtIn = (key: "xp" | "points", name: string, spendable: boolean): Currency => ({
  ...currencyDefaults,
  id: `cur_${key}`,
  key,
  name,
  spendable,
  set: "published",
  version: 1,
  createdAt: 0,
  updatedAt: 0,
})

/** The currencies of a new environment, by id. */
export const builtInCurrencies: ReadonlyMap<string, Currency> = new Map(
  [builtIn("xp", "XP", false), builtIn("points", "Points", true)].map((one) => [one.id, one]),
)

export const isBuiltIn = ({ id }: Pick<Currency, "id">): boolean => builtInCurrencies.has(id)

/** Amounts by the key of their currency. A currency whose amount is 0 may be absent. */
export type Amounts = { readonly [key: string]: number }

/** The active currency with this key. */
export const activeCurrency = (
  currencies: ReadonlyMap<string, Currency>,
  key: string,
): Currency | undefined => {
  const currency = definitionWithKey(currencies, key)
  return currency?.set === "published" ? currency : undefined
}

/** All amounts of a reward: of xp, points and further currencies. */
export const amountsOf = ({
  currencies,
  points = 0,
  xp = 0,
}: Omit<Reward, "badgeId">): Amounts => ({
  xp,
  points,
  ...currencies,
})

/** `amounts` and `amount` of a currency. */
export const plusAmountOf = (
  amounts: Amounts | undefined,
  key: string,
  amount: number,
): Amounts => ({
  ...amounts,
  [key]: (amounts !== undefined && Object.hasOwn(amounts, key) ? amounts[key]! : 0) + amount,
})

/** A currency with levels. */
export interface Leveled extends Currency {
  readonly levels: CurrencyLevels
}

export const hasLevels = (currency: Currency): currency is Leveled => currency.levels !== null

/** The active currencies with levels, and those of them whose levels pay. */
export const leveledCurrencies = (
  currencies: ReadonlyMap<string, Currency>,
): { readonly all: ReadonlyArray<Leveled>; readonly paying: ReadonlyArray<Leveled> } => {
  let known = leveled.get(currencies)
  if (known === undefined) {
    const all = [...currencies.values()].filter(hasLevels).filter(({ set }) => set === "published")
    const pays = ({ levels: { table = [] } }: Leveled) =>
      table.some(({ reward }) => !givesNothing(reward))
    known = { all, paying: all.filter(pays) }
    leveled.set(currencies, known)
  }
  return known
}

const leveled = new WeakMap<ReadonlyMap<string, Currency>, ReturnType<typeof leveledCurrencies>>()
