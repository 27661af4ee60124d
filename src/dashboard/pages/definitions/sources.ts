/**
 * The sources of events of an environment: services whose signed webhooks become events, and trackers. A
 * page of a source has its address, its secret, its receipts, and its mappings, with a sample delivery
 * that tries them.
 */
import { Effect } from "effect"
import { isTracker, sourceKinds } from "../../../domain/project/Source.ts"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import { confirmed, orPage, type PlaceVisit, placeForm, type Route } from "../../request/Route.ts"
import { secretBox } from "../../view/Commands.ts"
import { type Draft, draftRefusal } from "../../view/Editing.ts"
import {
  areaField,
  type Form,
  group,
  idempotencyField,
  jsonOf,
  refusal,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, type Html, html, isolated } from "../../view/Html.ts"
import { figures, table } from "../../view/Lists.ts"
import { count, isoTime } from "../../view/Quantities.ts"
import { type Reply, redirect } from "../../view/Replies.ts"
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
import {
  mappingFields,
  mappingNames,
  mappingsOf,
  mappingTexts,
  pointerSuggestions,
  trackerFields,
  trackerNames,
  trackerOf,
  trackerTexts,
} from "./mappingRows.ts"

/** A reply to a change has neither address nor counts. */
type Source = BodyOf<"sources.update"> &
  Partial<Pick<BodyOf<"sources.get">, "path" | "secretState" | "receipts">>

const serviceNames: Readonly<Record<Source["kind"], string>> = {
  stripe: "Stripe",
  github: "GitHub",
  json: "Standard Webhooks",
  segment: "Segment",
  posthog: "PostHog",
}

const textsOf = (source: Source) =>
  new Map([
    ["name", source.name],
    ["kind", source.kind],
    ...sharedTexts(source),
    ...mappingTexts(source.mappings),
    ...trackerTexts(source),
  ])

/** The fields of the sample that a try reads. */
const [bodyField, eventField] = ["sample.body", "sample.event"] as const

/** The members of a source alone, unchecked. */
const membersOf = (form: Form) => {
  const tracker = trackerOf(form)
  return {
    name: form.text("name"),
    mappings: mappingsOf(form),
    ...(tracker !== undefined && { tracker }),
  }
}

const draftOf = (form: Form) => ({
  ...withoutNulls(membersOf(form)),
  kind: form.text("kind"),
  ...sharedDraft(form),
})

const patchOf = (form: Form, source: Source) => ({
  ...membersOf(form),
  ...sharedPatch(form, source),
})

const sampleMapping = {
  event: "checkout.session.completed",
  where: [{ path: "/data/object/payment_status", op: "eq", value: "paid" }],
  action: "ORDER_PAID",
  userId: "/data/object/client_reference_id",
  metadata: { amount: "/data/object/amount_total" },
} as const

const kindField = ({ address, faults, form }: Draft, isNew: boolean): Content =>
  isNew
    ? html`<div class="row fields">${selectField({
        name: "kind",
        label: "Service",
        value: form.text("kind"),
        options: sourceKinds.map((kind) => [kind, serviceNames[kind]]),
        hint: "It never changes.",
        faults,
      })}<button formaction="${address}" name="intent" value="kind" formnovalidate>Show its fields</button></div>`
    : html`<input type="hidden" name="kind" value="${form.text("kind")}">`

const fields = (draft: Draft, _: undefined, isNew: boolean): Content => {
  const { faults, form } = draft
  return [
    textField({ name: "name", label: "Name", value: form.text("name"), required: true, faults }),
    kindField(draft, isNew),
    headFields(draft, isNew, "name"),
    pointerSuggestions(form.text(bodyField)),
    mappingFields(draft),
    trackerFields(draft),
    tailFields(
      draft,
      isTracker(form.text("kind"))
        ? "From then on messages become what they do without a source."
        : "From then on deliveries are accepted and ignored.",
      true,
    ),
  ]
}

const names = (form: Form) => [
  ...["name", "kind", ...sharedNames],
  ...mappingNames(form),
  ...(isTracker(form.text("kind")) ? trackerNames : []),
]

/* A try: the events that a delivery would become. */

type Preview = BodyOf<"sources.preview">

type Result = Preview["results"][number]

/** The result of a mapping or of a message: its kind in words, its user, and its parts. */
const becomes = ({ event, faults, merge, message, profile }: Result): ReadonlyArray<Content> => {
  const code = (value: object) => html`<code>${JSON.stringify(value)}</code>`
  if (event !== null) {
    const { action, id, metadata, occurredAt, userId } = event
    return [action, isolated(userId), code({ id, occurredAt, metadata })]
  }
  if (profile !== undefined) {
    const { userId, ...change } = profile
    return ["a change of the profile", isolated(userId), code(change)]
  }
  if (merge !== undefined)
    return ["a merge", isolated(merge.userId), html`into ${isolated(merge.into)}`]
  const why = faults.map(({ detail, pointer }) => html`<code>${pointer}</code> ${detail}<br>`)
  return [message !== undefined && faults.length === 0 ? "nothing" : "no event", "", why]
}

const outcomeRows = ({ results }: Preview) =>
  results.map((result) => [
    ...(result.message === undefined ? [] : [String(result.message + 1)]),
    result.mapping === null ? "" : String(result.mapping + 1),
    ...becomes(result),
  ])

const outcomeOf = (preview: Preview): Html =>
  html`<section id="outcome" aria-labelledby="outcome-title">
<h2 id="outcome-title">What the delivery becomes</h2>
${
  preview.results.length === 0
    ? html`<p>Nothing: no mapping matches${preview.event !== null && html` the kind of event <code>${preview.event}</code>`}.</p>`
    : table(
        "Outcome",
        [
          ...(preview.results[0]!.message === undefined ? [] : ["Message"]),
          ...["Mapping", "Becomes", "User", "Parts"],
        ],
        outcomeRows(preview),
      )
}</section>`

const trial: Trial = {
  names: [bodyField, eventField],
  fields: ({ address, faults, form }) =>
    group({ legend: "Try it before saving", name: "sample", faults }, [
      html`<p class="hint">Nothing is saved, and no event is sent.</p>`,
      areaField({
        name: bodyField,
        label: "Body of a delivery",
        value: form.text(bodyField),
        rows: 10,
        code: true,
        hint: "Copy one from the service's log of deliveries, or a message of the tracker.",
        pointer: "/body",
        faults,
      }),
      form.text("kind") === "github" &&
        textField({
          name: eventField,
          label: "Kind of event",
          value: form.text(eventField),
          hint: "For GitHub, the header X-GitHub-Event. Others have it in the body.",
          pointer: "/event",
          faults,
        }),
      html`<p><button formaction="${address}#outcome" name="intent" value="try" formnovalidate>Try</button></p>`,
    ]),
  run: (visit, form) => {
    const { mappings, tracker } = membersOf(form)
    const event = form.optional(eventField)
    const payload = {
      source: { kind: form.text("kind"), mappings, ...(tracker !== undefined && { tracker }) },
      body: jsonOf(form.text(bodyField)) ?? {},
      ...(event !== undefined && event !== "" && { event }),
    }
    return visit.ask("sources.preview", { payload }).pipe(
      Effect.map(outcomeOf),
      Effect.mapError((error) => draftRefusal(error, "source")),
    )
  },
}

/* The state of a source: its address, its secret, and what arrived. */

/** The choices for the secret before, by seconds. */
const graces: ReadonlyArray<readonly [string, string]> = [
  ["0", "ends at once"],
  ["3600", "stays valid for another hour"],
  ["86400", "stays valid for another day"],
  ["604800", "stays valid for another week"],
]

const secretForm = (visit: PlaceVisit, { id, kind, secretState }: Source): Html =>
  html`<form method="post" action="${visit.base}/sources/${id}/secret">${idempotencyField()}
${textField({
  name: "secret",
  label: "Secret",
  value: "",
  hint:
    kind === "stripe"
      ? "Stripe shows it, beginning with whsec_, once the endpoint exists."
      : "A new random one, if empty. Give the service the same.",
  ...(kind === "stripe" && { required: true }),
})}
${
  secretState?.set === true &&
  selectField({
    name: "graceSeconds",
    label: "The present secret",
    options: graces,
    value: String(limits.sourceGraceSeconds),
  })
}
<button>${secretState?.set === true ? "Replace secret" : "Set secret"}</button></form>`

/** The section with a new secret, on the first visit. */
const newSecret = ({ member, once, request }: PlaceVisit): Html | undefined => {
  const secret = once.take(request.query.get("secret"), member.session.id)
  return secret === undefined
    ? undefined
    : html`<section aria-labelledby="made"><h2 id="made">New secret</h2>
<p>Copy it now and give it to the service: it is not shown again.</p>
${secretBox("new-secret", "the secret", secret)}</section>`
}

const addressWords = ({ kind }: Source): Content =>
  isTracker(kind)
    ? html`Messages of ${serviceNames[kind]} arrive at this path with an API key. While this source is active, and none of ${serviceNames[kind]} that was created before, its mappings apply to them.`
    : html`Give the service, ${serviceNames[kind]}, the URL of this server with this path, and let it send JSON. No API key is needed.`

const secretWords = ({ secretState }: Source): Content => {
  if (secretState?.set !== true) return "none: every delivery is refused"
  const { previousValidUntil } = secretState
  return previousValidUntil === null
    ? "set"
    : html`set, the one before is valid until ${isoTime(previousValidUntil)}`
}

const failureTable = ({ receipts }: Source): Html | undefined =>
  receipts === undefined || receipts.failures.length === 0
    ? undefined
    : html`<h2>Latest failures</h2>${table(
        "Latest failures",
        ["When", "Delivery", "Kind of event", "Mapping", "Reason"],
        receipts.failures.map(({ at, deliveryId, detail, event, mapping }) => [
          isoTime(at),
          html`<code>${deliveryId ?? ""}</code>`,
          html`<code>${event ?? ""}</code>`,
          mapping === null ? "" : String(mapping + 1),
          isolated(detail),
        ]),
      )}`

const receiptFigures = ({ receipts }: Source): Html | undefined =>
  receipts &&
  html`<p>Since the start of the server, ${isoTime(receipts.since)}:</p>${figures([
    ["Deliveries", count(receipts.deliveries)],
    ["Events", count(receipts.events)],
    ["Repeats", count(receipts.duplicates)],
    ["Ignored", count(receipts.ignored)],
    ["Refused", count(receipts.refused)],
    ["Forged", count(receipts.forged)],
  ])}`

const stateOf = (visit: PlaceVisit, source: Source, allowed: boolean): Content => [
  newSecret(visit),
  source.path !== undefined &&
    source.status !== "archived" &&
    html`<h2>Address</h2>
<p>${addressWords(source)}</p>
${secretBox("address", "the path", source.path)}
${!isTracker(source.kind) && html`<p>Secret: ${secretWords(source)}.</p>${allowed && secretForm(visit, source)}`}`,
  receiptFigures(source),
  failureTable(source),
]

const setSecret = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  yield* confirmed(visit)
  const id = visit.params.source!
  const given = visit.form.text("secret")
  const graceSeconds = visit.form.number("graceSeconds")
  const { secret } = yield* visit.ask("sources.rotateSecret", {
    params: { id },
    payload: withoutNulls({ secret: given || null, graceSeconds: graceSeconds ?? null }),
    idempotencyKey: visit.form.optional("idempotencyKey"),
  })
  const address = `${visit.base}/sources/${id}`
  if (given !== "") return redirect(address)
  return redirect(`${address}?secret=${visit.once.keep(secret, visit.member.session.id)}`)
})

const refused = (visit: PlaceVisit, error: LaurelError) =>
  Effect.succeed(
    visit.show(
      "The secret was not changed",
      html`${refusal(error, [])}<p><a href="${visit.base}/sources/${visit.params.source!}">Back to the source</a></p>`,
      error,
    ),
  )

export const sourceRoutes: ReadonlyArray<Route> = [
  ...kindRoutes<Source, undefined>({
    noun: "source",
    nameOf: ({ name }) => name,
    lifecycle: "period",
    loss: "Its address is gone, and its secret is forgotten. Events that it made stay.",
    purpose:
      "A source is another service, such as Stripe, GitHub or any that signs by Standard Webhooks, whose signed webhooks become events without code of yours, or a tracker, Segment or PostHog, whose messages it reads by rules of yours.",
    choices: () => Effect.undefined,
    blank: new Map([["kind", "stripe"], ...mappingTexts([sampleMapping])]),
    textsOf,
    preset: ["op"],
    fields,
    names,
    trial,
    draftOf,
    patchOf,
    more: (visit, source, allowed) => Effect.sync(() => stateOf(visit, source, allowed)),
    heads: ["Service", "Actions", "Secret", "Period"],
    cellsIn: () =>
      Effect.succeed((source) => [
        serviceNames[source.kind],
        [...new Set(source.mappings.map(({ action }) => action))].join(", "),
        isTracker(source.kind) ? "needs none" : source.secretState?.set === true ? "set" : "none",
        periodWords(source),
      ]),
  }),
  placeForm("/sources/:source/secret", "source.rotate_secret", (visit) =>
    orPage(setSecret(visit), (error) => refused(visit, error)),
  ),
]
