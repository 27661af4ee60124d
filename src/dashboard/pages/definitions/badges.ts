/** The badges of an environment. */
import { Effect } from "effect"
import { type CriterionKind, criterionKinds } from "../../../domain/project/Definition.ts"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { mayChange, type PlaceVisit, placePage, type Route } from "../../request/Route.ts"
import { type Draft, versionInput } from "../../view/Editing.ts"
import {
  areaField,
  checkField,
  confirmButton,
  type Form,
  group,
  numberField,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { listQuery, properties, tabs, withQuery } from "../../view/Lists.ts"
import { isoTime } from "../../view/Quantities.ts"
import { conditionFields, conditionNames, conditionsOf, conditionTexts } from "./conditions.ts"
import { actionRoute, type Editor, editorRoutes, listPage, withoutNulls } from "./editor.ts"

/* The backfill of a badge: its state, and the button that starts it. */

type Backfill = BodyOf<"badges.getBackfill">

const path = "/badges"

/** The latest backfill of a badge, if there was one. */
const latest = (visit: PlaceVisit, id: string): Effect.Effect<Backfill | undefined, LaurelError> =>
  Effect.catch(visit.ask("badges.getBackfill", { params: { id } }), (error) =>
    error.code === "backfill_not_found" ? Effect.succeed(undefined) : Effect.fail(error),
  )

const progress = (address: string, backfill: Backfill): Html => {
  const { awarded, checked, finishedAt, notify, startedAt, status, total } = backfill
  const percent = total === 0 ? 100 : Math.floor((100 * Math.min(checked, total)) / total)
  return html`${
    status !== "finished" &&
    html`<p><label for="progress">${status === "waiting" ? "Waiting for another backfill" : "Running"}: ${percent} %</label>
<progress id="progress" max="100" value="${percent}"></progress> <a href="${address}#backfill">Refresh</a></p>`
  }${properties([
    ["Status", status],
    ["Users checked", `${checked} of ${total}`],
    ["Users awarded", awarded],
    ["Messages", notify ? "sent" : "none"],
    ["Started", isoTime(startedAt)],
    ["Finished", finishedAt === null ? "not yet" : isoTime(finishedAt)],
  ])}`
}

/** `mayStart`: whether the visitor may start a backfill. */
const backfillSection = (
  visit: PlaceVisit,
  badge: { readonly id: string; readonly name: string },
  mayStart: boolean,
): Effect.Effect<Html, LaurelError> =>
  Effect.map(latest(visit, badge.id), (backfill) => {
    const address = `${visit.base}${path}/${badge.id}`
    const isOver = backfill === undefined || backfill.status === "finished"
    return html`<section id="backfill" aria-labelledby="backfill-title"><h2 id="backfill-title">Backfill</h2>
${backfill === undefined ? html`<p>A backfill awards the badge to users who qualify already.</p>` : progress(address, backfill)}
${
  mayStart &&
  isOver &&
  confirmButton({
    id: "start-backfill",
    button: "Start backfill",
    keep: "Not now",
    title: `Award ${badge.name} for the past in ${visit.place.environment}?`,
    detail: "Every user who qualifies gets the badge, in the background. It cannot be stopped.",
    action: `${address}/backfill`,
    fields: checkField({
      name: "notify",
      label: "Tell webhooks and streams",
      checked: false,
      hint: "One message for each badge that is awarded.",
    }),
    danger: false,
  })
}</section>`
  })

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
/** The keys of the project's streaks. */
type Streaks = ReadonlyArray<string>

const kindLabels: Readonly<Record<CriterionKind, string>> = {
  xp: "xp reach the target",
  level: "the level reaches the target",
  points: "points reach the target",
  action_count: "a number of events with an action",
  action_sum: "a sum over events with an action",
  quest_count: "a number of completed quests",
  streak: "days of a streak",
  manual: "given by rules, quests and people only",
}

const isByAction = (kind: CriterionKind): boolean =>
  kind === "action_count" || kind === "action_sum"

const kindOf = (form: Form): CriterionKind =>
  criterionKinds.find((kind) => kind === form.text("criteria.kind")) ?? "action_count"

const criteriaTexts = (criteria: Badge["criteria"]) => {
  const kind = [["criteria.kind", criteria.kind]] as const
  if (criteria.kind === "manual") return kind
  const counted = [...kind, ["criteria.target", String(criteria.target)] as const]
  if (criteria.kind === "streak") {
    return [...counted, ["criteria.streak", criteria.streak ?? ""] as const]
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
    ["description", badge.description ?? ""],
    ["icon", badge.icon ?? ""],
    ...(badge.secret ? [["secret", "true"] as const] : []),
    ...criteriaTexts(badge.criteria),
  ])

/** The members of the chosen kind. The form shows no fields of other kinds. */
const criteriaOf = (form: Form): Record<string, unknown> => {
  const kind = kindOf(form)
  const target = form.number("criteria.target") ?? null
  if (kind === "manual") return { kind }
  if (kind === "streak") return { kind, target, streak: form.text("criteria.streak") || null }
  if (!isByAction(kind)) return { kind, target }
  const action = form.text("criteria.action")
  const where = conditionsOf(form, "criteria.where")
  if (kind === "action_count") return { kind, target, action, where }
  return { kind, target, action, where, sumPath: form.text("criteria.sumPath") }
}

const patchOf = (form: Form) => ({
  name: form.text("name"),
  description: form.text("description") || null,
  icon: form.text("icon") || null,
  secret: form.checked("secret"),
  criteria: criteriaOf(form),
})

const draftOf = (form: Form) => {
  const { criteria, ...rest } = patchOf(form)
  const { streak, ...parts } = criteria
  return {
    ...withoutNulls(rest),
    criteria: typeof streak === "string" ? { ...parts, streak } : parts,
  }
}

const criteriaFields = (draft: Draft, streaks: Streaks): Html => {
  const { address, faults, form } = draft
  const kind = kindOf(form)
  const given = form.text("criteria.streak")
  const options = given === "" || streaks.includes(given) ? streaks : [...streaks, given]
  return group({ legend: "Earned by", name: "criteria", faults }, [
    html`<div class="row fields">${selectField({
      name: "criteria.kind",
      label: "Kind",
      value: kind,
      options: criterionKinds.map((one) => [one, kindLabels[one]]),
      faults,
    })}<button formaction="${address}" name="intent" value="kind" formnovalidate>Show its fields</button></div>`,
    kind !== "manual" &&
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
          faults,
        }),
      conditionFields(draft, "criteria.where"),
    ],
    kind === "streak" &&
      selectField({
        name: "criteria.streak",
        label: "Streak",
        value: given,
        options: [["", "any"], ...options.map((key) => [key, key] as const)],
        faults,
      }),
  ])
}

const fields = (draft: Draft, streaks: Streaks): Content => {
  const { faults, form } = draft
  return [
    textField({ name: "name", label: "Name", value: form.text("name"), required: true, faults }),
    areaField({
      name: "description",
      label: "Description",
      value: form.text("description"),
      rows: 2,
      faults,
    }),
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
    criteriaFields(draft, streaks),
  ]
}

const names = (form: Form) => {
  const kind = kindOf(form)
  return [
    "name",
    "description",
    "icon",
    "criteria",
    "criteria.kind",
    ...(kind === "manual" ? [] : ["criteria.target"]),
    ...(kind === "streak" ? ["criteria.streak"] : []),
    ...(kind === "action_sum" ? ["criteria.sumPath"] : []),
    ...(isByAction(kind) ? ["criteria.action", ...conditionNames(form, "criteria.where")] : []),
  ]
}

const archiveButton = (visit: PlaceVisit, { archived, id, name, version }: Badge): Content =>
  !archived &&
  confirmButton({
    id: `archive-${id}`,
    button: "Archive",
    confirm: "Archive badge",
    keep: "Keep it",
    title: `Archive ${name} in ${visit.place.environment}?`,
    detail: "Nobody can earn it any more. Users who have it keep it. It cannot be undone.",
    action: `${visit.base}${path}/${id}/archive`,
    fields: versionInput(version),
  })

const above = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  badge: Badge,
  allowed: boolean,
): Effect.fn.Return<Html, LaurelError> {
  const { archived, criteria } = badge
  const state = archived ? "Archived" : badge.secret ? "Secret" : "Visible"
  const backfill =
    archived || criteria.kind === "manual"
      ? undefined
      : yield* backfillSection(visit, badge, allowed)
  return html`<div class="row"><span>${state}, changed ${isoTime(badge.updatedAt)}</span>${allowed && archiveButton(visit, badge)}</div>
${backfill}`
})

const badgeEditor: Editor<Badge, Streaks> = {
  noun: "badge",
  path,
  titleOf: ({ name }) => name,
  find: (visit, id) => visit.ask("badges.get", { params: { id } }),
  create: (visit, payload, idempotencyKey) =>
    visit.ask("badges.create", { payload, idempotencyKey }),
  update: (visit, id, payload, ifMatch) =>
    visit.ask("badges.update", { params: { id }, payload, ifMatch }),
  choices: (visit) =>
    Effect.map(visit.ask("project.get"), ({ streaks }) => streaks.map(({ key }) => key)),
  blank: new Map(),
  textsOf,
  preset: ["op"],
  fields,
  names,
  eventOf: (form) => ({ action: form.text("criteria.action") }),
  draftOf,
  patchOf,
  canChange: ({ archived }) => !archived,
  above,
}

const criteriaWords = (criteria: Badge["criteria"]): string => {
  switch (criteria.kind) {
    case "manual":
      return "by hand"
    case "action_count":
      return `${criteria.target} × ${criteria.action}`
    case "action_sum":
      return `${criteria.target} ${criteria.sumPath} of ${criteria.action}`
    case "streak":
      return `${criteria.target} days of ${criteria.streak ?? "any streak"}`
    case "quest_count":
      return `${criteria.target} quests`
    default:
      return `${criteria.kind} ${criteria.target}`
  }
}

const list = Effect.fnUntraced(function* (visit: PlaceVisit) {
  const allowed = mayChange(visit)
  const { query } = visit.request
  const archived = query.get("archived") ?? undefined
  const page = yield* visit.ask("badges.list", {
    query: { ...listQuery(visit.request.query), archived },
  })
  const addressOf = (value: string | undefined) =>
    withQuery(`${visit.base}${path}`, query, { archived: value, cursor: undefined })
  return listPage(visit, {
    title: "Badges",
    path,
    empty:
      archived === undefined
        ? "A badge is something that a user earns once, such as for ten lessons or a week without a missed day."
        : "No badge is archived.",
    create: "Create badge",
    page,
    above: tabs(
      "State",
      [
        [undefined, "in use", addressOf(undefined)],
        ["true", "archived", addressOf("true")],
      ],
      archived,
    ),
    heads: ["Badge", "Earned by", "Seen", "Changed"],
    rows: page.badges.map((badge) => [
      html`${badge.icon !== null && badge.icon.length <= 8 && html`${badge.icon} `}<a href="${visit.base}${path}/${badge.id}">${badge.name}</a>`,
      criteriaWords(badge.criteria),
      badge.secret ? "once earned" : "by all",
      isoTime(badge.updatedAt),
      ...(allowed ? [html`<div class="row">${archiveButton(visit, badge)}</div>`] : []),
    ]),
  })
})

export const badgeRoutes: ReadonlyArray<Route> = [
  placePage(path, list),
  ...editorRoutes(badgeEditor),
  actionRoute({
    noun: "badge",
    verb: "archive",
    path,
    change: (visit, id, ifMatch) => visit.ask("badges.delete", { params: { id }, ifMatch }),
  }),
  backfillRoute,
]
