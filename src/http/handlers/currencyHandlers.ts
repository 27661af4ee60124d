import type { CurrencyChange } from "../../domain/decide/CurrencyDefinitions.ts"
import type { Currency } from "../../domain/project/Currency.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Currencies, CurrencyPatch, NewCurrency } from "../api/Currencies.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import { named, newMembers } from "./Shapes.ts"

export const currencyHandlers = (engine: Engine["Service"]): Handlers<typeof Currencies> =>
  kindOperations(engine, "currency", {
    made: newCurrency,
    changed: currencyChange,
    show: showCurrency,
  })

export const newCurrency = (payload: typeof NewCurrency.Type, id: string) => {
  const { earnLimit = null, max = null, name, pendingDays = null, refill = null } = payload
  const { spendable = id !== "cur_xp" } = payload
  return { id, ...newMembers(payload), name, spendable, max, earnLimit, refill, pendingDays }
}

/** The change of a currency to the one that `payload` describes. Key and metadata stay. */
export const currencyReplacement = (payload: typeof NewCurrency.Type): CurrencyChange => {
  const currency = newCurrency(payload, "")
  const { description, earnLimit, max, name, pendingDays, refill, spendable } = currency
  return { description, earnLimit, max, name, pendingDays, refill, spendable }
}

const currencyChange = ({ spendable, ...patch }: typeof CurrencyPatch.Type): CurrencyChange =>
  named({ ...patch, spendable: spendable === null ? true : spendable })

const showCurrency = (currency: Currency) => {
  const { createdAt, description, earnLimit, id, key, max, metadata, name, set, spendable } =
    currency
  const { pendingDays, refill, updatedAt, version } = currency
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
    version,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  }
}
