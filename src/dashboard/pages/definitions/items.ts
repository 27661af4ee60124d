/** The items of an environment: what users can buy, with what is sold and left. */
import { Effect } from "effect"
import { limitPeriods } from "../../../domain/values/Periods.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { liveSection, recentPosition } from "../../request/following.ts"
import type { PlaceVisit, Route } from "../../request/Route.ts"
import { type Draft, draftRefusal } from "../../view/Editing.ts"
import { type Form, group, numberField, selectField, textField } from "../../view/Forms.ts"
import { badgeTitle, type Content, type Html, html, isolated } from "../../view/Html.ts"
import { figures, table } from "../../view/Lists.ts"
import { count } from "../../view/Quantities.ts"
import {
  amountsOf,
  amountsText,
  type BadgeChoices,
  badgeChoices,
  blankZeros,
  mergedOver,
  rewardFields,
  rewardNames,
  rewardOf,
  rewardPatch,
  rewardTexts,
  rewardWords,
  typedPayment,
} from "./conditions.ts"
import { type Trial, withoutNulls } from "./editor.ts"
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
    ...blankZeros(rewardTexts(item.reward)),
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

/* A try: what the user would pay and get. */

const userField = "event.userId"

type Preview = BodyOf<"items.preview">

/** The words of a reward in the form, which the schema has accepted. */
const givenWords = (form: Form): string => {
  const { boost, currencies, freezes, points, xp } = typedPayment(form, "reward") ?? {}
  const parts = [
    xp !== undefined && `${xp} xp`,
    points !== undefined && `${points} points`,
    currencies !== undefined && form.text("reward.currencies"),
    freezes !== undefined && `freezes ${form.text("reward.freezes")}`,
    boost !== undefined && `boost ${form.text("reward.boost")} minutes`,
    form.optional("reward.badgeId") !== undefined && "a badge",
  ].filter((part) => part !== false)
  return parts.length === 0 ? "nothing" : parts.join(", ")
}

const change = ({ after, before }: { readonly after: number; readonly before: number }): string =>
  before === after ? String(after) : `${before} to ${after}`

const outcomeRows = (form: Form, { purchase, refusal }: Preview) => [
  ["Can buy it now", refusal === null ? "yes" : `no: ${refusal.detail}`],
  ["Pays", form.text("price")],
  ["Gets", givenWords(form)],
  ...(purchase === null
    ? []
    : [
        ["Balances afterwards", amountsText(purchase.balances)],
        ["Level", change(purchase.level)],
        ["Badges", purchase.badges.map(badgeTitle).join(", ")],
      ]),
]

const trial: Trial = {
  names: [userField],
  fields: ({ address, faults, form }) =>
    group({ legend: "Try it before saving", name: "event", faults }, [
      html`<p class="hint">Nothing is saved, and the user pays nothing.</p>`,
      textField({
        name: userField,
        label: "User id",
        hint: "A user who has balances. A user without any events can buy nothing.",
        value: form.text(userField),
        pointer: "/userId",
        faults,
      }),
      html`<p><button formaction="${address}#outcome" name="intent" value="try" formnovalidate>Try</button></p>`,
    ]),
  run: (visit, form, itemId) => {
    const userId = form.text(userField)
    const payload = { userId, item: draftOf(form), ...(itemId !== undefined && { itemId }) }
    return visit.ask("items.preview", { payload }).pipe(
      Effect.map(
        (preview) => html`<section id="outcome" aria-labelledby="outcome-title">
<h2 id="outcome-title">Purchase of ${isolated(userId)}</h2>
${table("Outcome", ["What", "With this item"], outcomeRows(form, preview))}</section>`,
      ),
      Effect.mapError((error) => draftRefusal(error, "item")),
    )
  },
}

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

/** A part of the page that a purchase changes, which a script renews. */
const renewed = ({ id }: Item, name: string, content: Content): Html =>
  html`<span id="${name}-${id}" data-renew>${content}</span>`

const stateOf = (item: Item): Content =>
  figures([
    ["On sale now", renewed(item, "sale", saleWords(item))],
    ["Sold", renewed(item, "sold", count(item.sold ?? 0))],
    ["Left", renewed(item, "left", unitsOf(item.left))],
  ])

/** The connection that renews the stock. It begins before the page was read, so it misses nothing. */
const connection = (visit: PlaceVisit) =>
  Effect.map(recentPosition(visit), (after) => liveSection(visit, "stock", after, undefined))

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
  trial,
  draftOf,
  patchOf,
  more: (visit, item) => Effect.map(connection(visit), (section) => [stateOf(item), section]),
  below: connection,
  heads: ["Price", "Gives", "On sale now", "Stock", "Limit", "For"],
  cellsIn: (visit) =>
    Effect.map(badgeChoices(visit), (badges) => (item) => [
      amountsText(item.price),
      rewardWords(item.reward, badges),
      [renewed(item, "sale", saleWords(item)), isTimed(item) && html`<br>`, periodWords(item)],
      renewed(item, "stock", html`${count(item.sold ?? 0)} sold<br>${unitsOf(item.left)} left`),
      limitWords(item),
      item.segment === null ? "everyone" : isolated(item.segment),
    ]),
})
