/** The badges of an environment. */
import { Effect } from "effect"
import { type CriterionKind, criterionKinds } from "../../../domain/project/Definition.ts"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { PlaceVisit, Route } from "../../request/Route.ts"
import type { Draft } from "../../view/Editing.ts"
import {
  checkField,
  confirmButton,
  type Form,
  group,
  numberField,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { addButton, removeButton, rowCount } from "../../view/Lists.ts"
import { pathWarning } from "../../view/Paths.ts"
import { backfillSection, latestOf } from "./backfills.ts"
import {
  conditionFields,
  conditionNames,
  conditionsOf,
  conditionTexts,
  paymentFields,
  paymentNames,
  paymentPatch,
  paymentTexts,
  rewardWords,
  typedPayment,
} from "./conditions.ts"
import { actionRoute, eventTrial, withoutNulls } from "./editor.ts"
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

const path = "/badges"

/** `mayStart`: whether the visitor may start a backfill. */
const backfillOf = (
  visit: PlaceVisit,
  badge: { readonly id: string; readonly name: string },
  mayStart: boolean,
): Effect.Effect<Html, LaurelError> =>
  Effect.map(
    latestOf(visit.ask("badges.getBackfill", { params: { id: badge.id } })),
    (backfill) => {
      const address = `${visit.base}${path}/${badge.id}`
      return backfillSection(address, backfill, {
        purpose: "A backfill awards the badge to users who qualify already.",
        own: ({ awarded, notify }) => [
          ["Users awarded", awarded],
          ["Messages", notify ? "sent" : "none"],
        ],
        start:
          mayStart &&
          confirmButton({
            id: "start-backfill",
            button: "Start backfill",
            keep: "Not now",
            title: `Award ${badge.name} for the past in ${visit.place.environment}?`,
            detail:
              "Every user who qualifies gets the badge, in the background. It cannot be stopped.",
            action: `${address}/backfill`,
            fields: checkField({
              name: "notify",
              label: "Tell webhooks and streams",
              checked: false,
              hint: "One message for each badge that is awarded.",
            }),
            danger: false,
          }),
      })
    },
  )

const backfillRoute: Route = actionRoute({
  noun: "badge",
  verb: "backfill",
  path,
  change: (visit, id) =>
    visit.ask("badges.startBackfill", {
      params: { id },
      payload: { notify: visit.form.checked("notify") },
      idempotencyKey: visit.form.optional("idempotencyKey"),
    }),
  next: ({ base }, id) => `${base}${path}/${encodeURIComponent(id)}#backfill`,
})

type Badge = BodyOf<"badges.get">
/** The keys of the project's streaks, metrics and badges. */
interface Keys {
  readonly streaks: ReadonlyArray<string>
  readonly metrics: ReadonlyArray<string>
  /** `undefined`: too many for a list. */
  readonly badges: ReadonlyArray<string> | undefined
}

const kindLabels: Readonly<Record<CriterionKind, string>> = {
  xp: "xp reach the target",
  level: "the level reaches the target",
  points: "points reach the target",
  action_count: "a number of events with an action",
  action_sum: "a sum over events with an action",
  quest_count: "a number of completed quests",
  streak: "the length of a streak",
  metric: "the total of a metric reaches the target",
  badges: "all badges of a list",
  manual: "given by rules, quests and people only",
}

const isByAction = (kind: CriterionKind): boolean =>
  kind === "action_count" || kind === "action_sum"

const kindOf = (form: Form): CriterionKind =>
  criterionKinds.find((kind) => kind === form.text("criteria.kind")) ?? "action_count"

const badgeRows = "criteria.badges"

/** The names of the rows of listed badges, one more than there may be. */
const listedRows = (form: Form): ReadonlyArray<string> =>
  form.indices(badgeRows, limits.listedBadgesMax + 1).map((index) => `${badgeRows}.${index}`)

const criteriaTexts = (criteria: Badge["criteria"]) => {
  const kind = [["criteria.kind", criteria.kind]] as const
  if (criteria.kind === "manual") return kind
  if (criteria.kind === "badges") {
    return [...kind, ...criteria.badges.map((key, row) => [`${badgeRows}.${row}`, key] as const)]
  }
  const counted = [...kind, ["criteria.target", String(criteria.target)] as const]
  if (criteria.kind === "streak") {
    return [...counted, ["criteria.streak", criteria.streak ?? ""] as const]
  }
  if (criteria.kind === "metric") {
    return [...counted, ["criteria.metric", criteria.metric] as const]
  }
  if (!("action" in criteria)) return counted
  return [
    ...counted,
    ...(criteria.kind === "action_sum" ? [["criteria.sumPath", criteria.sumPath] as const] : []),
    ["criteria.action", criteria.action] as const,
    ...conditionTexts("criteria.where", criteria.where),
  ]
}

const textsOf = (badge: Badge) =>
  new Map([
    ["name", badge.name],
    ...sharedTexts(badge),
    ["icon", badge.icon ?? ""],
    ...(badge.secret ? [["secret", "true"] as const] : []),
    ...(badge.repeatable ? [["repeatable", "true"] as const] : []),
    ...criteriaTexts(badge.criteria),
    ...paymentTexts("reward", badge.reward),
    ...badge.tiers.flatMap(({ icon, key, name, reward, target }, index) => {
      const row = `tiers.${index}`
      return [
        [`${row}.key`, key],
        [`${row}.name`, name],
        [`${row}.target`, String(target)],
        [`${row}.icon`, icon ?? ""],
        ...paymentTexts(`${row}.reward`, reward),
      ] as const
    }),
  ])

const tierRowsMax = limits.badgeTiersMax + 1

/** Whether badges of the kind have a target, or tiers with targets. */
const hasTarget = (kind: CriterionKind): boolean => kind !== "manual" && kind !== "badges"

/** The places of the tiers in the form. */
const tierRows = (form: Form): ReadonlyArray<string> =>
  hasTarget(kindOf(form)) ? form.indices("tiers", tierRowsMax).map((index) => `tiers.${index}`) : []

const tiersOf = (form: Form) =>
  tierRows(form).map((row) => {
    const icon = form.text(`${row}.icon`)
    const reward = typedPayment(form, `${row}.reward`)
    return {
      key: form.text(`${row}.key`),
      name: form.text(`${row}.name`),
      target: form.number(`${row}.target`) ?? null,
      ...(icon !== "" && { icon }),
      ...(reward !== null && { reward }),
    }
  })

/** The members of the chosen kind. The form shows no fields of other kinds. */
const criteriaOf = (form: Form): Record<string, unknown> => {
  const kind = kindOf(form)
  if (kind === "manual") return { kind }
  if (kind === "badges") return { kind, badges: listedRows(form).map((row) => form.text(row)) }
  // The tiers have the targets.
  const target =
    tierRows(form).length > 0 ? undefined : { target: form.number("criteria.target") ?? null }
  if (kind === "streak") return { kind, ...target, streak: form.text("criteria.streak") || null }
  if (kind === "metric") return { kind, ...target, metric: form.text("criteria.metric") }
  if (!isByAction(kind)) return { kind, ...target }
  const action = form.text("criteria.action")
  const where = conditionsOf(form, "criteria.where")
  if (kind === "action_count") return { kind, ...target, action, where }
  return { kind, ...target, action, where, sumPath: form.text("criteria.sumPath") }
}

const membersOf = (form: Form) => ({
  name: form.text("name"),
  icon: form.text("icon") || null,
  secret: form.checked("secret"),
  criteria: criteriaOf(form),
  tiers: tiersOf(form),
})

const draftOf = (form: Form) => {
  const { criteria, ...rest } = membersOf(form)
  const { streak, ...parts } = criteria
  const reward = tierRows(form).length > 0 ? null : typedPayment(form, "reward")
  return {
    ...withoutNulls({ ...rest, reward }),
    ...(form.checked("repeatable") && { repeatable: true }),
    ...sharedDraft(form),
    criteria: typeof streak === "string" ? { ...parts, streak } : parts,
  }
}

const patchOf = (form: Form, badge: Badge) => ({
  ...membersOf(form),
  ...sharedPatch(form, badge),
  reward: tierRows(form).length > 0 ? null : paymentPatch(form, "reward", badge.reward),
})

const listedFields = (draft: Draft, badges: Keys["badges"]): Html => {
  const { address, faults, form } = draft
  const fieldOf = (row: string, place: number): Html => {
    const value = form.text(row)
    const field = { name: row, label: `Badge ${place}`, value, faults }
    if (badges === undefined) return textField(field)
    const keys = new Set([...badges, ...(value === "" ? [] : [value])])
    const options = [["", "none"] as const, ...[...keys].map((key) => [key, key] as const)]
    return selectField({ ...field, options })
  }
  return group({ legend: "Badges", name: badgeRows, faults }, [
    html`<p class="hint">Users earn it with the last of these badges, in any tier, and lose it with any of them.</p>`,
    listedRows(form).map(
      (row, place) =>
        html`<div class="row fields">${fieldOf(row, place + 1)}${removeButton(row, `badge ${place + 1}`, address)}</div>`,
    ),
    rowCount(form, badgeRows) < limits.listedBadgesMax &&
      addButton(badgeRows, "Add badge", address),
  ])
}

const criteriaFields = (draft: Draft, { badges, metrics, streaks }: Keys): Html => {
  const { address, faults, form } = draft
  const kind = kindOf(form)
  const actions = [form.text("criteria.action")]
  const optionsOf = (name: string, keys: ReadonlyArray<string>) =>
    [...new Set([...keys, ...[form.text(name)].filter((key) => key !== "")])].map(
      (key) => [key, key] as const,
    )
  return group({ legend: "Earned by", name: "criteria", faults }, [
    html`<div class="row fields">${selectField({
      name: "criteria.kind",
      label: "Kind",
      value: kind,
      options: criterionKinds.map((one) => [one, kindLabels[one]]),
      faults,
    })}<button formaction="${address}" name="intent" value="kind" formnovalidate>Show its fields</button></div>`,
    hasTarget(kind) &&
      tierRows(form).length === 0 &&
      numberField({
        name: "criteria.target",
        label: "Target",
        value: form.text("criteria.target"),
        faults,
      }),
    isByAction(kind) && [
      textField({
        name: "criteria.action",
        label: "Action",
        value: form.text("criteria.action"),
        hint: "Events are counted from now on; a backfill counts those before.",
        faults,
      }),
      kind === "action_sum" &&
        textField({
          name: "criteria.sumPath",
          label: "Sum of",
          value: form.text("criteria.sumPath"),
          hint: "The path to a number in the metadata, such as km. Events without a number above 0 there do not count.",
          warning: pathWarning(draft, actions, form.text("criteria.sumPath"), true),
          faults,
        }),
      conditionFields(draft, "criteria.where", actions),
    ],
    kind === "streak" &&
      selectField({
        name: "criteria.streak",
        label: "Streak",
        value: form.text("criteria.streak"),
        options: [["", "any"], ...optionsOf("criteria.streak", streaks)],
        faults,
      }),
    kind === "metric" &&
      selectField({
        name: "criteria.metric",
        label: "Metric",
        value: form.text("criteria.metric"),
        options: [["", "none"], ...optionsOf("criteria.metric", metrics)],
        faults,
      }),
    kind === "badges" && listedFields(draft, badges),
  ])
}

const tierFields = (draft: Draft, row: string, place: number): Html => {
  const { address, faults, form } = draft
  return html`<fieldset><legend>Tier ${place}</legend><div class="row fields">
${textField({ name: `${row}.key`, label: "Key", value: form.text(`${row}.key`), faults })}
${textField({ name: `${row}.name`, label: "Name", value: form.text(`${row}.name`), faults })}
${numberField({ name: `${row}.target`, label: "Target", value: form.text(`${row}.target`), faults })}
${textField({ name: `${row}.icon`, label: "Icon", value: form.text(`${row}.icon`), faults })}
${removeButton(row, `tier ${place}`, address)}</div>
<div class="row fields">${paymentFields(draft, `${row}.reward`)}</div></fieldset>`
}

const tiersGroup = (draft: Draft): Html => {
  const { address, faults, form } = draft
  return group({ legend: "Tiers", name: "tiers", faults }, [
    html`<p class="hint">Such as bronze, silver and gold, lowest target first. Users earn each tier once, and keep it as long as its key stays. Tiers take the place of the target and the reward of the badge.</p>`,
    tierRows(form).map((row, place) => tierFields(draft, row, place + 1)),
    rowCount(form, "tiers") < limits.badgeTiersMax && addButton("tiers", "Add tier", address),
  ])
}

const fields = (draft: Draft, keys: Keys, isNew: boolean): Content => {
  const { faults, form } = draft
  return [
    textField({ name: "name", label: "Name", value: form.text("name"), required: true, faults }),
    headFields(draft, isNew, "name"),
    textField({
      name: "icon",
      label: "Icon",
      value: form.text("icon"),
      hint: "An emoji, an address or any text for your app.",
      faults,
    }),
    checkField({
      name: "secret",
      label: "Secret",
      checked: form.checked("secret"),
      hint: "Users see it only once they have it.",
    }),
    criteriaFields(draft, keys),
    isNew &&
      checkField({
        name: "repeatable",
        label: "Repeatable",
        checked: form.checked("repeatable"),
        hint: "Users earn it at each multiple of the target. Only for events, sums and metrics that count or sum, without tiers. It never changes.",
        faults,
      }),
    hasTarget(kindOf(form)) && tiersGroup(draft),
    tierRows(form).length === 0 &&
      group(
        { legend: "Pays who earns it", name: "reward", faults },
        paymentFields(draft, "reward"),
      ),
    tailFields(draft, "Nobody earns it from then on."),
  ]
}

const names = (form: Form) => {
  const kind = kindOf(form)
  return [
    "name",
    ...sharedNames,
    "icon",
    "repeatable",
    "criteria",
    "criteria.kind",
    ...(hasTarget(kind) ? ["criteria.target", "tiers"] : []),
    ...(kind === "badges" ? [badgeRows, ...listedRows(form)] : []),
    ...paymentNames("reward"),
    ...tierRows(form).flatMap((row) => [
      ...["key", "name", "target", "icon"].map((name) => `${row}.${name}`),
      ...paymentNames(`${row}.reward`),
    ]),
    ...(kind === "streak" || kind === "metric" ? [`criteria.${kind}`] : []),
    ...(kind === "action_sum" ? ["criteria.sumPath"] : []),
    ...(isByAction(kind) ? ["criteria.action", ...conditionNames(form, "criteria.where")] : []),
  ]
}

const choices = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Keys, LaurelError> {
  const keysOf = (all: ReadonlyArray<{ readonly key: string }>) => all.map(({ key }) => key)
  const query = { limit: String(limits.pageMax) }
  const { streaks } = yield* visit.ask("streaks.list", { query })
  const { metrics } = yield* visit.ask("metrics.list", { query })
  const { badges, hasMore } = yield* visit.ask("badges.list", { query })
  return {
    streaks: keysOf(streaks),
    metrics: keysOf(metrics),
    badges: hasMore ? undefined : keysOf(badges),
  }
})

const criteriaWords = (criteria: Badge["criteria"]): string => {
  switch (criteria.kind) {
    case "manual":
      return "by hand"
    case "action_count":
      return `${criteria.target} × ${criteria.action}`
    case "action_sum":
      return `${criteria.target} ${criteria.sumPath} of ${criteria.action}`
    case "streak":
      return `${criteria.target} in a row of ${criteria.streak ?? "any streak"}`
    case "metric":
      return `${criteria.target} of the metric ${criteria.metric}`
    case "badges":
      return `the badges ${criteria.badges.join(", ")}`
    case "quest_count":
      return `${criteria.target} quests`
    default:
      return `${criteria.kind} ${criteria.target}`
  }
}

const heldWords = ({ count, share } = { count: 0, share: 0 }): string =>
  `${count} (${percent.format(share)})`

const percent = new Intl.NumberFormat("en", { style: "percent", maximumSignificantDigits: 2 })

/** The criteria of a badge with tiers: all targets. */
const tiersWords = ({ criteria, tiers }: Badge): string | undefined => {
  if (tiers.length === 0 || criteria.kind === "manual") return undefined
  const targets = tiers.map(({ target }) => target).join(", ")
  return criteriaWords(criteria).replace(String(criteria.target), targets)
}

export const badgeRoutes: ReadonlyArray<Route> = [
  ...kindRoutes<Badge, Keys>({
    noun: "badge",
    nameOf: ({ name }) => name,
    lifecycle: "period",
    loss: "Nobody can earn it any more. Users who have it keep it.",
    purpose:
      "A badge is something that a user earns once, such as for ten lessons or a week without a missed day.",
    choices,
    blank: new Map(),
    textsOf,
    preset: ["op"],
    fields,
    names,
    trial: eventTrial("badge", (form) => ({ action: form.text("criteria.action") }), draftOf),
    draftOf,
    patchOf,
    remark: ({ holders, repeatable, secret, tiers }) => [
      secret && " Secret.",
      repeatable && " Repeatable.",
      ` Users who have it: ${heldWords(holders)}.`,
      tiers.map(({ key, name }) => ` ${name}: ${heldWords(holders.tiers?.[key])}.`),
    ],
    more: (visit, badge, allowed) =>
      badge.status === "archived" || badge.criteria.kind === "manual"
        ? Effect.undefined
        : backfillOf(visit, badge, allowed && badge.status === "active"),
    heads: ["Earned by", "Pays", "Users who have it", "Seen", "Period"],
    cellsIn: () =>
      Effect.succeed((badge) => [
        tiersWords(badge) ?? criteriaWords(badge.criteria),
        [badge, ...badge.tiers]
          .map(({ reward }) => rewardWords(reward, undefined))
          .filter((words) => words !== "nothing")
          .join("; ") || "nothing",
        heldWords(badge.holders),
        badge.secret ? "once earned" : "by all",
        periodWords(badge),
      ]),
  }),
  backfillRoute,
]
