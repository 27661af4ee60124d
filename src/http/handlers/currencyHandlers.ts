import type { CurrencyChange } from "../../domain/decide/CurrencyDefinitions.ts"
import type { Currency, NamedLevel } from "../../domain/project/Currency.ts"
import type { LevelCurve } from "../../domain/project/Level.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Currencies, CurrencyPatch, NewCurrency } from "../api/Currencies.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import { allParts, named, newMembers } from "./Shapes.ts"

export const currencyHandlers = (engine: Engine["Service"]): Handlers<typeof Currencies> =>
  kindOperations(engine, "currency", {
    made: newCurrency,
    changed: currencyChange,
    show: showCurrency,
  })

export const newCurrency = (payload: typeof NewCurrency.Type, id: string) => {
  const { earnLimit = null, max = null, name, pendingDays = null, refill = null } = payload
  const { spendable = id !== "cur_xp" } = payload
  const expiry = expiryOf(payload.expiry ?? null)
  const levels = levelsOf(payload.levels ?? null)
  const members = { name, spendable, max, earnLimit, refill, pendingDays, expiry, levels }
  return { id, ...newMembers(payload), ...members }
}

/** The change of a currency to the one that `payload` describes. Key and metadata stay. */
export const currencyReplacement = (payload: typeof NewCurrency.Type): CurrencyChange => {
  const currency = newCurrency(payload, "")
  const { description, earnLimit, expiry, levels, max, name, pendingDays, refill, spendable } =
    currency
  return { description, earnLimit, expiry, levels, max, name, pendingDays, refill, spendable }
}

const currencyChange = ({
  expiry,
  levels,
  spendable,
  ...patch
}: typeof CurrencyPatch.Type): CurrencyChange =>
  named({
    ...patch,
    ...(expiry !== undefined && { expiry: expiryOf(expiry) }),
    ...(levels !== undefined && { levels: levelsOf(levels) }),
    spendable: spendable === null ? true : spendable,
  })

/** Levels that were sent: they have a table or a curve. The decision checks the curve's members. */
const levelsOf = (sent: NonNullable<typeof NewCurrency.Type.levels> | null): Currency["levels"] => {
  if (sent === null) return null
  const { curve, of = "earned", table } = sent
  return table === undefined
    ? { of, curve: curve as LevelCurve }
    : { of, table: table.map(newLevel) }
}

const newLevel = ({
  icon,
  reward = {},
  ...level
}: NonNullable<NonNullable<typeof NewCurrency.Type.levels>["table"]>[number]): NamedLevel => ({
  ...level,
  icon: icon ?? null,
  reward: allParts(reward),
})

/** An expiry that was sent: it has exactly one member. */
const expiryOf = (sent: NonNullable<typeof NewCurrency.Type.expiry> | null) =>
  sent as Currency["expiry"]

const showCurrency = (currency: Currency) => {
  const { createdAt, description, earnLimit, id, key, max, metadata, name, set, spendable } =
    currency
  const { expiry, levels, pendingDays, refill, updatedAt, version } = currency
  return {
    id,
    key,
    name,
    description,
    metadata,
    status: set === "archived" ? ("archived" as const) : ("active" as const),
    spendable,
    max,
    earnLimit,
    refill,
    pendingDays,
    expiry,
    levels,
    version,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  }
}
