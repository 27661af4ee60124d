/**
 * Forms about one user, each with a page of its own: grant a reward, spend points, send an event,
 * edit the profile.
 */
import { Effect } from "effect"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import { redirectWithNotice } from "../../request/notice.ts"
import type { PlaceVisit } from "../../request/Route.ts"
import {
  areaField,
  idempotencyField,
  numberField,
  refusal,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { badgeTitle, type Content, type Html, html, isolated, titled } from "../../view/Html.ts"
import { count } from "../../view/Quantities.ts"
import { about, type Reply } from "../../view/Replies.ts"
import { userPath } from "../../view/Users.ts"
import { amountsOf } from "../definitions/conditions.ts"
import { outcomeText } from "./history.ts"
import { inProduction } from "./inProduction.ts"

type User = BodyOf<"users.get">
type Answer = Effect.Effect<Reply, LaurelError>

interface FormPage {
  /** Such as "Grant reward to"; the name of the user follows. */
  readonly title: string
  readonly button: string
  readonly names: ReadonlyArray<string>
  readonly fields: Content
  readonly error: LaurelError | undefined
}

const formPage = (visit: PlaceVisit, userId: string, page: FormPage): Reply => {
  const { base, request, show } = visit
  const { button, error, fields, names, title } = page
  const production = inProduction(visit)
  return show(
    `${title} ${titled(userId)}${production}`,
    html`<p>User <a href="${userPath(base, userId)}">${isolated(userId)}</a></p>
${refusal(error, names)}
<form method="post" action="${request.path}">
${idempotencyField()}
${fields}
<button class="main">${button}${production}</button></form>`,
    error,
  )
}

/** The idempotency key of the form: a second click changes nothing more. */
const keyOf = ({ form }: PlaceVisit): string | undefined => form.optional("idempotencyKey")

/** Redirects to the user's page. `detail` is for the audit log. */
const backTo = (visit: PlaceVisit, userId: string, notice: string, detail: string): Reply =>
  about(redirectWithNotice(visit, userPath(visit.base, userId), notice), { detail })

export const rewardPage = (visit: PlaceVisit, { id }: User, error?: LaurelError): Answer =>
  Effect.zipWith(
    visit.ask("badges.list", { query: { limit: String(limits.pageMax), status: "active" } }),
    visit.ask("currencies.list", { query: { limit: String(limits.pageMax) } }),
    (page, currencies) => {
      const { form } = visit
      const faults = error?.errors
      const badge = { name: "badgeId", label: "Badge", value: form.text("badgeId"), faults }
      const badges: ReadonlyArray<readonly [string, string]> = page.badges.map((one) => [
        one.id,
        titled(one.name),
      ])
      return formPage(visit, id, {
        title: "Grant reward to",
        button: "Grant reward",
        error,
        names: [
          "type",
          "amount",
          "badgeId",
          "reward.currencies.*",
          "reward.freezes.*",
          "reward.boost.*",
          "reason",
          "id",
        ],
        fields: [
          selectField({
            name: "type",
            label: "Kind",
            value: form.text("type"),
            options: [
              ["xp", "xp"],
              ["points", "points"],
              ["badge", "badge"],
              ["currency", "another currency"],
              ["freezes", "freezes of a streak"],
              ["boost", "a personal boost"],
            ],
            faults,
          }),
          numberField({
            name: "amount",
            label: "Amount",
            hint: "Empty for a badge; for a boost its minutes.",
            value: form.text("amount"),
            faults,
          }),
          page.hasMore
            ? textField({ ...badge, hint: "The id of a badge; empty for xp and points." })
            : selectField({ ...badge, options: [["", "none"], ...badges] }),
          currencyField(form.text("currency"), currencies.currencies, faults),
          textField({
            name: "streak",
            label: "Streak",
            hint: "Its key, if the kind is freezes of a streak.",
            value: form.text("streak"),
            faults,
          }),
          textField({
            name: "boost",
            label: "Boost",
            hint: "Its key, if the kind is a personal boost.",
            value: form.text("boost"),
            faults,
          }),
          reasonField(form.text("reason"), faults),
          ownIdField(form.text("id"), "reward", faults),
        ],
      })
    },
  )

const currencyField = (
  value: string,
  currencies: BodyOf<"currencies.list">["currencies"],
  faults: LaurelError["errors"],
): Html | undefined => {
  const further = currencies.filter(({ key }) => key !== "xp" && key !== "points")
  if (further.length === 0) return undefined
  const options = further.map(({ key, name }) => [key, titled(name)] as const)
  const label = "Currency"
  const hint = "If the kind is another currency."
  return selectField({ name: "currency", label, value, options, hint, faults })
}

const reasonField = (value: string, faults: LaurelError["errors"]): Html =>
  areaField({
    name: "reason",
    label: "Reason",
    hint: "Kept in the user's history.",
    value,
    rows: 2,
    faults,
  })

const ownIdField = (value: string, what: string, faults: LaurelError["errors"]): Html =>
  textField({
    name: "id",
    label: "Your id",
    hint: `Optional. A second ${what} with the same id changes nothing.`,
    value,
    faults,
  })

export const grantReward = (visit: PlaceVisit, user: User): Answer => {
  const { ask, form } = visit
  const about = { reason: form.optional("reason"), id: form.optional("id") }
  const amount = form.number("amount")
  const type = form.text("type")
  const of = { [form.text(type === "freezes" ? "streak" : "currency")]: amount ?? null }
  const boost = { key: form.text("boost"), minutes: amount ?? null }
  const payload =
    type === "currency"
      ? { reward: { currencies: of }, ...about }
      : type === "freezes"
        ? { reward: { freezes: of }, ...about }
        : type === "boost"
          ? { reward: { boost }, ...about }
          : { type, amount, badgeId: form.optional("badgeId"), ...about }
  const granted = ask("users.reward", {
    params: { id: user.id },
    payload,
    idempotencyKey: keyOf(visit),
  })
  return granted.pipe(
    Effect.map((reply) => {
      const notice = outcomeNotice("Reward", "granted", reply)
      const what = type === "boost" ? boost.key : Object.keys(of)[0]
      const given = `${reply.type ?? what} ${reply.amount ?? reply.badgeId ?? amount}`
      return backTo(visit, user.id, notice, given)
    }),
    Effect.catch((error) => rewardPage(visit, user, error)),
  )
}

export const spendPage = (
  visit: PlaceVisit,
  { balances, id, points }: User,
  error?: LaurelError,
): Answer => {
  const { form } = visit
  const faults = error?.errors
  return Effect.succeed(
    formPage(visit, id, {
      title: "Spend points of",
      button: "Spend points",
      error,
      names: ["amount", "currencies.*", "reason", "id"],
      fields: [
        html`<p>The user has ${count(points)} points. Xp, level, badges and leaderboards stay.</p>`,
        numberField({
          name: "amount",
          label: "Amount",
          value: form.text("amount"),
          hint: "Of points.",
          required: Object.keys(balances).length === builtInMax,
          faults,
        }),
        Object.keys(balances).length > builtInMax &&
          textField({
            name: "currencies",
            label: "Further currencies",
            hint: html`The key and the amount of each, such as <code>gems 5, hearts 1</code>. All are spent, or nothing.`,
            value: form.text("currencies"),
            faults,
          }),
        reasonField(form.text("reason"), faults),
        ownIdField(form.text("id"), "spend", faults),
      ],
    }),
  )
}

/** Every user has a balance of xp and of points. */
const builtInMax = 2

export const spendPoints = (visit: PlaceVisit, user: User): Answer => {
  const { ask, form } = visit
  const about = { reason: form.optional("reason"), id: form.optional("id") }
  const amount = form.number("amount")
  const currencies = amountsOf(form.text("currencies"))
  const payload =
    currencies === undefined
      ? { amount, ...about }
      : { currencies: { ...(amount !== undefined && { points: amount }), ...currencies }, ...about }
  const spent = ask("users.spend", {
    params: { id: user.id },
    payload,
    idempotencyKey: keyOf(visit),
  })
  return spent.pipe(
    Effect.map((spend) => {
      const { amount, currencies = {}, points } = spend
      const further = Object.entries(currencies).map(
        ([key, { spent, total }]) => ` ${key} spent: ${count(spent)}; ${count(total)} left.`,
      )
      const notice = spend.duplicate
        ? repeatNotice("A spend", "made", spend)
        : `Points spent: ${count(amount)}; ${count(points.total)} left.${further.join("")}`
      const detail = [
        `points ${amount}`,
        ...Object.entries(currencies).map(([key, { spent }]) => `${key} ${spent}`),
      ]
      return backTo(visit, user.id, notice, detail.join(", "))
    }),
    Effect.catch((error) => spendPage(visit, user, error)),
  )
}

const repeatNotice = (
  what: string,
  done: string,
  { differs = [], revoked }: { readonly differs?: ReadonlyArray<string>; readonly revoked?: true },
): string => {
  const since = revoked ? ", and taken back since" : ""
  const other = differs.length > 0 ? ` It differs: ${differs.join(", ")}.` : ""
  return `${what} with this id was ${done} before${since}; nothing changed.${other}`
}

const outcomeNotice = (
  what: string,
  done: string,
  reply: BodyOf<"events.track"> | BodyOf<"users.reward">,
): string => {
  if (reply.duplicate) return repeatNotice(what, done, reply)
  const badges = reply.badges.map((badge) => `badge ${badgeTitle(badge)}`)
  const changes = [outcomeText(reply), ...badges].filter((text) => text !== "").join(", ")
  const unmatched =
    "matched" in reply ? " No rule, quest, badge or streak in use names its action." : ""
  return `${what} ${done}${changes === "" ? "; no balance changed" : `: ${changes}`}.${unmatched}`
}

export const eventPage = (visit: PlaceVisit, { id }: User, error?: LaurelError): Answer => {
  const { form } = visit
  const faults = error?.errors
  return Effect.succeed(
    formPage(visit, id, {
      title: "Send event for",
      button: "Send event",
      error,
      names: ["action", "metadata", "id"],
      fields: [
        html`<p>Counts like an event of your app: rules, quests, streaks and webhooks apply.</p>`,
        textField({
          name: "action",
          label: "Action",
          hint: "Such as LESSON_DONE.",
          value: form.text("action"),
          required: true,
          faults,
        }),
        areaField({
          name: "metadata",
          label: "Metadata",
          hint: 'Optional, a JSON object such as {"score": 93}.',
          value: form.text("metadata"),
          code: true,
          faults,
        }),
        ownIdField(form.text("id"), "event", faults),
      ],
    }),
  )
}

export const sendEvent = (visit: PlaceVisit, user: User): Answer => {
  const { ask, form } = visit
  const payload = {
    userId: user.id,
    action: form.text("action").trim(),
    metadata: form.json("metadata"),
    id: form.optional("id"),
  }
  return ask("events.track", { payload, idempotencyKey: keyOf(visit) }).pipe(
    Effect.map((reply) =>
      backTo(visit, user.id, outcomeNotice("Event", "sent", reply), reply.action),
    ),
    Effect.catch((error) => eventPage(visit, user, error)),
  )
}

/** The fields of a profile as texts. */
const profileTexts = ({ attributes, displayName, timezone }: User) => ({
  displayName: displayName ?? "",
  timezone: timezone ?? "",
  attributes: JSON.stringify(attributes, null, 2),
})
const profileNames = ["displayName", "timezone", "attributes"] as const

export const profilePage = (visit: PlaceVisit, user: User, error?: LaurelError): Answer => {
  const { form, request } = visit
  const faults = error?.errors
  const texts = profileTexts(user)
  const posted = request.method === "POST"
  const textOf = (name: keyof typeof texts) => (posted ? form.text(name) : texts[name])
  const before = (name: keyof typeof texts) => (posted ? form.text(`before.${name}`) : texts[name])
  return Effect.succeed(
    formPage(visit, user.id, {
      title: "Edit profile of",
      button: "Save profile",
      error,
      names: profileNames,
      fields: [
        profileNames.map(
          (name) => html`<input type="hidden" name="before.${name}" value="${before(name)}">\n`,
        ),
        textField({
          name: "displayName",
          label: "Name",
          hint: "Shown on leaderboards; empty for none.",
          value: textOf("displayName"),
          faults,
        }),
        textField({
          name: "timezone",
          label: "Time zone",
          hint: "An IANA time zone such as Europe/Berlin; empty for that of the project.",
          value: textOf("timezone"),
          faults,
        }),
        areaField({
          name: "attributes",
          label: "Attributes",
          hint: "A JSON object of texts, numbers and booleans.",
          value: textOf("attributes"),
          rows: 10,
          code: true,
          faults,
        }),
      ],
    }),
  )
}

/** Sends only the changed fields, so that the form does not revert changes made meanwhile. */
export const saveProfile = (visit: PlaceVisit, user: User): Answer => {
  const { ask, form } = visit
  const changed = (name: string) => form.text(name) !== form.text(`before.${name}`)
  const payload = {
    ...(changed("displayName") && { displayName: form.optional("displayName") ?? null }),
    ...(changed("timezone") && { timezone: form.optional("timezone") ?? null }),
    ...(changed("attributes") && { attributes: form.json("attributes") ?? {} }),
  }
  return ask("users.put", { params: { id: user.id }, payload }).pipe(
    Effect.map(() => backTo(visit, user.id, "Profile saved.", Object.keys(payload).join(", "))),
    Effect.catch((error) => profilePage(visit, user, error)),
  )
}
