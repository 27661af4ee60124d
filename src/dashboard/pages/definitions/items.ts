/** The items of an environment: what users can buy, with what is sold and left. */
import { Effect } from "effect"
import { limitPeriods } from "../../../domain/values/Periods.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import type { Route } from "../../request/Route.ts"
import type { Draft } from "../../view/Editing.ts"
import { type Form, group, numberField, selectField, textField } from "../../view/Forms.ts"
import { type Content, html, isolated } from "../../view/Html.ts"
import { figures } from "../../view/Lists.ts"
import { count } from "../../view/Quantities.ts"
import {
  amountsOf,
  amountsText,
  type BadgeChoices,
  badgeChoices,
  mergedOver,
  rewardFields,
  rewardNames,
  rewardOf,
  rewardPatch,
  rewardTexts,
  rewardWords,
  typedPayment,
} from "./conditions.ts"
import { withoutNulls } from "./editor.ts"
import { kindRoutes } from "./kindPages.ts"
import {
  headFields,
  periodWords,
  sharedDraft,
  sharedNames,
  sharedPatch,
  sharedTexts,
  tailFields,
} from "./lifecycle.ts"

/** A reply to a change has no counts. */
type Item = BodyOf<"items.update"> & Partial<Pick<BodyOf<"items.get">, "sold" | "left">>

const textsOf = (item: Item) =>
  new Map([
    ["name", item.name],
    ...sharedTexts(item),
    ["price", amountsText(item.price)],
    ...rewardTexts(item.reward).map(([name, text]) => [name, text === "0" ? "" : text] as const),
    ["limit.times", String(item.limit?.times ?? "")],
    ["limit.per", item.limit?.per ?? ""],
    ["stock", String(item.stock ?? "")],
  ])

/** The members of an item alone; `null` for optional ones that are empty. */
const membersOf = (form: Form) => {
  const times = form.number("limit.times")
  const per = form.text("limit.per")
  return {
    name: form.text("name"),
    limit:
      times === undefined && per === ""
        ? null
        : { times: times ?? null, ...(per !== "" && { per }) },
    stock: form.number("stock") ?? null,
  }
}

/** An item need not give anything. */
const givesNothing = (form: Form): boolean =>
  typedPayment(form, "reward") === null && form.optional("reward.badgeId") === undefined

const draftOf = (form: Form) => ({
  ...withoutNulls(membersOf(form)),
  ...sharedDraft(form),
  price: amountsOf(form.text("price")) ?? {},
  ...(!givesNothing(form) && { reward: withoutNulls(rewardOf(form)) }),
})

const patchOf = (form: Form, item: Item) => ({
  ...membersOf(form),
  ...sharedPatch(form, item),
  price: mergedOver(item.price, amountsOf(form.text("price")) ?? {}),
  reward: givesNothing(form) ? null : rewardPatch(form, item.reward),
})

const periods = limitPeriods.map(
  (period) => [period, period === "ever" ? "ever" : `per ${period}`] as const,
)

const fields = (draft: Draft, badges: BadgeChoices, isNew: boolean): Content => {
  const { faults, form } = draft
  return [
    textField({ name: "name", label: "Name", value: form.text("name"), required: true, faults }),
    headFields(draft, isNew, "name"),
    textField({
      name: "price",
      label: "Price",
      value: form.text("price"),
      hint: html`The key of each currency and its amount, such as <code>gems 5, points 100</code>. A purchase takes all of them or nothing.`,
      required: true,
      faults,
      below: true,
    }),
    rewardFields(draft, badges),
    html`<p class="hint">Without a reward, your app delivers the item, for example on the message <code>item.purchased</code>.</p>`,
    numberField({
      name: "stock",
      label: "Stock",
      value: form.text("stock"),
      hint: "How many units are ever for sale, sold ones included: to add 10 units, raise it by 10. Any number, if empty.",
      faults,
    }),
    group({ legend: "Limit", name: "limit", faults }, [
      numberField({
        name: "limit.times",
        label: "Times",
        value: form.text("limit.times"),
        hint: "How many units a user can buy. Any number, if empty.",
        faults,
      }),
      selectField({
        name: "limit.per",
        label: "Period",
        value: form.text("limit.per"),
        options: [["", "no limit"], ...periods],
        hint: "Days, weeks and months are those of the project's time zone.",
        faults,
      }),
    ]),
    tailFields(draft, "From then on nobody can buy it."),
  ]
}

const names = () => [
  "name",
  ...sharedNames,
  "price.*",
  ...rewardNames,
  "stock",
  "limit",
  "limit.times",
  "limit.per",
]

/** Whether users can buy the item now. */
const saleWords = ({ left, status }: Item): string => {
  if (status !== "active") return "no"
  return left === 0 ? "no, sold out" : "yes"
}

const isTimed = ({ endsAt, startsAt }: Item): boolean => startsAt !== null || endsAt !== null

const limitWords = ({ limit }: Item): string => {
  if (limit === null) return "none"
  return `${count(limit.times)} ${limit.per === "ever" ? "ever" : `a ${limit.per}`}`
}

const unitsOf = (units: number | null | undefined): string =>
  units === null ? "any number" : count(units ?? 0)

const stateOf = (item: Item): Content =>
  figures([
    ["On sale now", saleWords(item)],
    ["Sold", count(item.sold ?? 0)],
    ["Left", unitsOf(item.left)],
  ])

export const itemRoutes: ReadonlyArray<Route> = kindRoutes<Item, BadgeChoices>({
  noun: "item",
  nameOf: ({ name }) => name,
  lifecycle: "period",
  loss: "Nobody can buy it from now on. What users have bought stays, and can be refunded.",
  purpose:
    "An item is what users buy for amounts of currencies, such as a streak freeze for 5 gems.",
  choices: badgeChoices,
  blank: new Map(),
  textsOf,
  preset: [],
  fields,
  names,
  draftOf,
  patchOf,
  more: (_, item) => Effect.succeed(stateOf(item)),
  heads: ["Price", "Gives", "On sale now", "Stock", "Limit", "For"],
  cellsIn: (visit) =>
    Effect.map(badgeChoices(visit), (badges) => (item) => [
      amountsText(item.price),
      rewardWords(item.reward, badges),
      [saleWords(item), isTimed(item) && html`<br>`, periodWords(item)],
      html`${count(item.sold ?? 0)} sold<br>${unitsOf(item.left)} left`,
      limitWords(item),
      item.segment === null ? "everyone" : isolated(item.segment),
    ]),
})
