/** The quests of an environment. */
import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import { questRecurrences, questStatuses } from "../../../domain/project/Definition.ts"
import { type Metadata, metadataFault } from "../../../domain/values/Metadata.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import { mayChange, type PlaceVisit, placePage, type Route } from "../../request/Route.ts"
import { type Draft, versionInput } from "../../view/Editing.ts"
import {
  areaField,
  confirmButton,
  type Form,
  group,
  jsonField,
  jsonOf,
  numberField,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { addButton, listQuery, removeButton, rowCount, tabs, withQuery } from "../../view/Lists.ts"
import { isoTime } from "../../view/Quantities.ts"
import {
  type BadgeChoices,
  badgeChoices,
  conditionFields,
  conditionNames,
  conditionsOf,
  conditionTexts,
  rewardFields,
  rewardNames,
  rewardOf,
  rewardTexts,
  rewardWords,
} from "./conditions.ts"
import {
  type Action,
  actionForm,
  actionRoute,
  type Editor,
  editorRoutes,
  listPage,
  withoutNulls,
} from "./editor.ts"

/* The form edits metadata as a whole; the API takes a merge patch of the changes. */

const isObject = (value: unknown): value is Metadata =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The JSON merge patch (RFC 7396) from `before` to `after`. */
export const metadataPatch = (before: Metadata, after: Metadata): Metadata => {
  const removed = Object.keys(before)
    .filter((name) => !Object.hasOwn(after, name))
    .map((name) => [name, null] as const)
  const changed = Object.entries(after).flatMap(([name, value]) => {
    const old = Object.hasOwn(before, name) ? before[name] : undefined
    if (isDeepStrictEqual(old, value)) return []
    return [[name, isObject(value) && isObject(old) ? metadataPatch(old, value) : value] as const]
  })
  return Object.fromEntries([...removed, ...changed])
}

/** Whether `after` has a `null`, which a merge patch cannot set: it would remove the member. */
const hasNewNull = (before: unknown, after: Metadata): boolean =>
  Object.entries(after).some(([name, value]) => {
    const old = isObject(before) && Object.hasOwn(before, name) ? before[name] : undefined
    if (value === null) return old !== null
    return isObject(value) && hasNewNull(old, value)
  })

type Quest = BodyOf<"quests.update"> & Partial<Pick<BodyOf<"quests.get">, "counts">>

const path = "/quests"
const stepRowsMax = limits.questStepsMax + 1

const textsOf = (quest: Quest) =>
  new Map([
    ["title", quest.title],
    ["description", quest.description ?? ""],
    ...rewardTexts(quest.reward),
    ...quest.steps.flatMap(({ action, key, sumPath, target, where }, index) => {
      const row = `steps.${index}`
      return [
        [`${row}.key`, key],
        [`${row}.action`, action],
        [`${row}.target`, String(target)],
        [`${row}.sumPath`, sumPath ?? ""],
        ...conditionTexts(`${row}.where`, where),
      ] as const
    }),
    ["startsAt", quest.startsAt ?? ""],
    ["endsAt", quest.endsAt ?? ""],
    ["recurrence", quest.recurrence],
    ["prerequisites", quest.prerequisites.join("\n")],
    [
      "metadata",
      Object.keys(quest.metadata).length === 0 ? "" : JSON.stringify(quest.metadata, null, 2),
    ],
  ])

const stepsOf = (form: Form) =>
  form.indices("steps", stepRowsMax).map((index) => {
    const row = `steps.${index}`
    return {
      key: form.text(`${row}.key`),
      action: form.text(`${row}.action`),
      where: conditionsOf(form, `${row}.where`),
      target: form.number(`${row}.target`) ?? null,
      sumPath: form.text(`${row}.sumPath`) || null,
    }
  })

const membersOf = (form: Form) => ({
  title: form.text("title"),
  description: form.text("description") || null,
  steps: stepsOf(form),
  startsAt: form.text("startsAt") || null,
  endsAt: form.text("endsAt") || null,
  recurrence: form.text("recurrence") || "none",
  prerequisites: form.lines("prerequisites"),
})

const draftOf = (form: Form) => ({
  ...withoutNulls({ ...membersOf(form), status: form.optional("status") ?? null }),
  reward: withoutNulls(rewardOf(form)),
  metadata: jsonOf(form.text("metadata")),
})

const isMetadata = (value: unknown): value is Metadata =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  metadataFault(value) === undefined

const patchOf = (form: Form, { metadata }: Quest) => {
  const typed = jsonOf(form.text("metadata"))
  return {
    ...membersOf(form),
    reward: rewardOf(form),
    metadata:
      typed === undefined ? null : isMetadata(typed) ? metadataPatch(metadata, typed) : typed,
  }
}

const changeFaults = (form: Form, { metadata }: Quest) => {
  const typed = jsonOf(form.text("metadata"))
  const detail = "cannot get a null by a change: leave the member out instead"
  return isMetadata(typed) && hasNewNull(metadata, typed)
    ? [{ pointer: "/metadata", code: "invalid_value", detail }]
    : []
}

const stepFields = (draft: Draft, row: string, place: number): Html => {
  const { address, faults, form } = draft
  return html`<fieldset><legend>Step ${place}</legend><div class="row fields">
${textField({ name: `${row}.key`, label: "Key", value: form.text(`${row}.key`), faults })}
${textField({ name: `${row}.action`, label: "Action", value: form.text(`${row}.action`), faults })}
${numberField({ name: `${row}.target`, label: "Target", value: form.text(`${row}.target`), faults })}
${textField({ name: `${row}.sumPath`, label: "Sum of", value: form.text(`${row}.sumPath`), faults })}
${removeButton(row, `step ${place}`, address)}</div>
${conditionFields(draft, `${row}.where`)}</fieldset>`
}

const stepsGroup = (draft: Draft): Html => {
  const { address, faults, form } = draft
  return group({ legend: "Steps", name: "steps", faults }, [
    html`<p class="hint">The quest completes with its last step. Without steps, your app completes it by the event <code>QUEST_COMPLETE</code>. Users keep their count as long as the key of a step stays. A step counts events; with “Sum of”, the path to a number in the metadata such as <code>km</code>, it adds these numbers.</p>`,
    form
      .indices("steps", stepRowsMax)
      .map((index, place) => stepFields(draft, `steps.${index}`, place + 1)),
    rowCount(form, "steps") < limits.questStepsMax && addButton("steps", "Add step", address),
  ])
}

const fields = (draft: Draft, badges: BadgeChoices, isNew: boolean): Content => {
  const { faults, form } = draft
  const text = (name: string, label: string, hint?: Content) =>
    textField({ name, label, value: form.text(name), faults, ...(hint !== undefined && { hint }) })
  return [
    textField({ name: "title", label: "Title", value: form.text("title"), required: true, faults }),
    areaField({
      name: "description",
      label: "Description",
      value: form.text("description"),
      rows: 2,
      faults,
    }),
    isNew &&
      selectField({
        name: "status",
        label: "Status",
        value: form.text("status"),
        options: [
          ["active", "active: users see it from its start on"],
          ["draft", "draft: users do not see it"],
        ],
        faults,
      }),
    rewardFields(draft, badges),
    stepsGroup(draft),
    text(
      "startsAt",
      "Start",
      html`With a zone, such as <code>2026-12-01T09:00:00Z</code>. At once, if empty.`,
    ),
    text("endsAt", "End", "Unfinished progress expires then. Never, if empty."),
    selectField({
      name: "recurrence",
      label: "Repeats",
      value: form.text("recurrence"),
      options: questRecurrences.map((one) => [one, one === "none" ? "never" : one]),
      hint: "It restarts with each period of the project's time zone.",
      faults,
    }),
    areaField({
      name: "prerequisites",
      label: "Prerequisites",
      value: form.text("prerequisites"),
      rows: 2,
      hint: "Ids of quests that a user must complete before, one a line.",
      faults,
      below: true,
    }),
    jsonField({
      name: "metadata",
      label: "Metadata",
      value: form.text("metadata"),
      hint: "A JSON object for your app.",
      faults,
    }),
  ]
}

const names = (form: Form) => [
  "title",
  "description",
  "status",
  ...rewardNames,
  "steps",
  ...form.indices("steps", stepRowsMax).flatMap((index) => {
    const row = `steps.${index}`
    return [
      ...["key", "action", "target", "sumPath"].map((name) => `${row}.${name}`),
      ...conditionNames(form, `${row}.where`),
    ]
  }),
  "startsAt",
  "endsAt",
  "recurrence",
  "prerequisites.*",
  "metadata.*",
]

const buttons = (visit: PlaceVisit, { id, status, title, version }: Quest): Content => {
  if (status === "archived") return undefined
  const own = `${visit.base}${path}/${id}`
  return [
    status === "draft" && actionForm(`${own}/publish`, "Publish", title, version),
    status === "active" && actionForm(`${own}/pause`, "Pause", title, version),
    status === "paused" && actionForm(`${own}/resume`, "Resume", title, version),
    confirmButton({
      id: `archive-${id}`,
      button: "Archive",
      confirm: "Archive quest",
      keep: "Keep it",
      title: `Archive ${title} in ${visit.place.environment}?`,
      detail:
        "Nobody can begin or complete it any more, and unfinished progress expires. Users who completed it keep its reward. It cannot be undone.",
      action: `${own}/archive`,
      fields: versionInput(version),
    }),
  ]
}

const questEditor: Editor<Quest, BadgeChoices> = {
  noun: "quest",
  path,
  titleOf: ({ title }) => title,
  find: (visit, id) => visit.ask("quests.get", { params: { id } }),
  create: (visit, payload, idempotencyKey) =>
    visit.ask("quests.create", { payload, idempotencyKey }),
  update: (visit, id, payload, ifMatch) =>
    visit.ask("quests.update", { params: { id }, payload, ifMatch }),
  choices: badgeChoices,
  blank: new Map(),
  textsOf,
  preset: ["op"],
  fields,
  names,
  eventOf: (form, id = "qst_draft") => {
    const [first] = form.indices("steps", 1)
    return first === undefined
      ? { action: "QUEST_COMPLETE", metadata: { questId: id } }
      : { action: form.text(`steps.${first}.action`) }
  },
  draftOf,
  changeFaults,
  patchOf,
  canChange: ({ status }) => status !== "archived",
  above: (visit, quest, allowed) =>
    Effect.succeed(
      html`<div class="row"><span>${quest.status}, changed ${isoTime(quest.updatedAt)}. Users: ${quest.counts?.inProgress ?? 0} in progress, ${quest.counts?.completed ?? 0} completed.</span>${allowed && buttons(visit, quest)}</div>`,
    ),
}

const statusLinks = (visit: PlaceVisit): Html => {
  const { query } = visit.request
  const chosen = query.get("status") ?? ""
  return tabs(
    "Status",
    ["", ...questStatuses].map((status) => [
      status,
      status || "not archived",
      withQuery(`${visit.base}${path}`, query, { status, cursor: undefined }),
    ]),
    chosen,
  )
}

const periodWords = ({ endsAt, startsAt }: Quest): Content => [
  startsAt !== null && html`from ${isoTime(startsAt)}`,
  startsAt !== null && endsAt !== null && html`<br>`,
  endsAt !== null && html`to ${isoTime(endsAt)}`,
]

const list = Effect.fnUntraced(function* (visit: PlaceVisit) {
  const allowed = mayChange(visit)
  const status = visit.request.query.get("status") ?? undefined
  const page = yield* visit.ask("quests.list", {
    query: { ...listQuery(visit.request.query), status },
  })
  const badges = yield* badgeChoices(visit)
  return listPage(visit, {
    title: "Quests",
    path,
    empty:
      status === undefined
        ? "A quest is a goal of several steps, such as three lessons with 90 points, with a reward for completing it."
        : "No quest has this status.",
    create: "Create quest",
    page,
    above: statusLinks(visit),
    heads: ["Quest", "Status", "Steps", "Gives", "Repeats", "Period"],
    rows: page.quests.map((quest) => [
      html`<a href="${visit.base}${path}/${quest.id}">${quest.title}</a>`,
      quest.status,
      quest.steps
        .map(({ action, sumPath, target }) =>
          sumPath === null ? `${target} × ${action}` : `${target} ${sumPath} of ${action}`,
        )
        .join(", "),
      rewardWords(quest.reward, badges),
      quest.recurrence === "none" ? "never" : quest.recurrence,
      periodWords(quest),
      ...(allowed ? [html`<div class="row">${buttons(visit, quest)}</div>`] : []),
    ]),
  })
})

const become =
  (status: "active" | "paused"): Action["change"] =>
  (visit, id, ifMatch) =>
    visit.ask("quests.update", { params: { id }, payload: { status }, ifMatch })

const action = (verb: Lowercase<string>, change: Action["change"]) =>
  actionRoute({ noun: "quest", verb, path, change })

export const questRoutes: ReadonlyArray<Route> = [
  placePage(path, list),
  ...editorRoutes(questEditor),
  action("publish", become("active")),
  action("pause", become("paused")),
  action("resume", become("active")),
  action("archive", (visit, id, ifMatch) =>
    visit.ask("quests.delete", { params: { id }, ifMatch }),
  ),
]
