/** The webhooks of one environment: the list, the page of one webhook, and its form. */
import { Effect } from "effect"
import type { Fault, LaurelError } from "../../../domain/values/Errors.ts"
import { limits } from "../../../Limits.ts"
import { confirmHint, noticeOf } from "../../request/notice.ts"
import {
  confirmedInProduction,
  mayChange,
  orPage,
  type PlaceVisit,
  placeForm,
  placePage,
  type Route,
} from "../../request/Route.ts"
import { differences, versionIn, versionInput } from "../../view/Editing.ts"
import {
  choiceField,
  confirmButton,
  type Form,
  idempotencyField,
  refusal,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, type Html, html, isolated } from "../../view/Html.ts"
import { cursorPager, listQuery, properties, table } from "../../view/Lists.ts"
import { capitalized, isoTime, isoTimeWithSeconds } from "../../view/Quantities.ts"
import { about, type Reply, redirect } from "../../view/Replies.ts"
import { deliveriesSection, failureAlert } from "./deliveries.ts"
import {
  type Counted,
  hostOf,
  type Listed,
  listAddress,
  listPath,
  ofPage,
  secretRedirect,
  secretSection,
  statusText,
  urlOf,
  verificationSection,
  webhookAddress,
  webhookPath,
} from "./webhook.ts"

/** How many patterns a row shows. */
const patternsShown = 3

const eventsText = ({ events }: Listed): Content => {
  const rest = events.length - patternsShown
  return html`${events
    .slice(0, patternsShown)
    .map((pattern) => html`<code>${pattern}</code> `)}${rest > 0 && `and ${rest} more`}`
}

const urlCharactersShown = 60
const shortened = (url: string): string =>
  url.length <= urlCharactersShown ? url : `${url.slice(0, urlCharactersShown - 1)}…`

const row = (visit: PlaceVisit, webhook: Counted | Listed): ReadonlyArray<Content> => {
  const counted = "deliveries" in webhook ? webhook : undefined
  return [
    html`<a href="${webhookAddress(visit, webhook.id)}">${shortened(webhook.url)}</a>${
      webhook.description !== null &&
      html`<br><span class="quiet">${isolated(webhook.description)}</span>`
    }`,
    statusText(webhook),
    eventsText(webhook),
    counted && isoTime(counted.lastSuccessAt),
    counted?.deliveries.pending,
    counted?.deliveries.failed,
  ]
}

const listPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, place, request, show } = visit
  const { query } = request
  const page = yield* ask("webhooks.list", {
    query: listQuery(query),
  })
  // A webhook that was deleted since then has no counts.
  const rows = yield* Effect.forEach(
    page.webhooks,
    (webhook) =>
      Effect.catchIf(
        ask("webhooks.get", { params: { id: webhook.id } }),
        ({ code }) => code === "webhook_not_found",
        () => Effect.succeed(webhook),
      ),
    { concurrency: "unbounded" },
  )
  return show(
    {
      text: "Webhooks",
      action:
        mayChange(visit) &&
        html`<a class="button main" href="${listAddress(visit)}/new">Create webhook</a>`,
    },
    html`${noticeOf(visit)}
${
  page.total === 0
    ? html`<p>A webhook sends a signed message to your server when something happens here, such as a level that changed or a badge that was earned. ${place.environment} has no webhook yet.</p>`
    : html`${table(
        "Webhooks",
        ["Receiver", "Status", "Events", "Last success", "Pending", "Failed"],
        rows.map((webhook) => row(visit, webhook)),
      )}${cursorPager(listAddress(visit), query, page)}`
}`,
  )
})

export const listRoutes: ReadonlyArray<Route> = [placePage(listPath, listPage)]

/* The page of a webhook: status, counts, actions, deliveries. */

const day = 86_400_000

/** The choices for the previous secret, by seconds. */
const graces: ReadonlyArray<readonly [string, string]> = [
  ["0", "ends at once"],
  ["3600", "keeps signing for another hour"],
  ["86400", "keeps signing for another day"],
  ["604800", "keeps signing for another week"],
]

/** A time in a field of a form, in UTC. */
const fieldTime = (at: number): string => new Date(at).toISOString().slice(0, 16)

const recoverForm = (visit: PlaceVisit, webhook: Counted, error: LaurelError | undefined): Html => {
  const { form, now } = visit
  return html`<h2>Recover missed messages</h2>
<p>Sends in the background what failed, was dropped, or happened while the webhook was disabled. Messages that the receiver accepted are not sent again.</p>
<form method="post" action="${webhookAddress(visit, webhook.id)}/recover">${idempotencyField()}
${textField({
  name: "since",
  label: "Since (UTC)",
  type: "datetime-local",
  value: form.text("since") || fieldTime(now() - day),
  required: true,
  hint: "Messages are made again from the history of users. Those that are older than the history that the server keeps are gone.",
  faults: error?.errors,
})}
${confirmHint(visit, "To recover messages", webhookAddress(visit, webhook.id))}
<button${webhook.status === "disabled" && html` disabled`}>Recover messages of ${visit.place.environment}</button></form>`
}

const actions = (visit: PlaceVisit, webhook: Counted): Html => {
  const { environment } = visit.place
  const address = webhookAddress(visit, webhook.id)
  const host = hostOf(webhook)
  const isEnabled = webhook.status === "enabled"
  return html`<div class="row">
<a class="button" href="${address}/change">Change webhook</a>
${
  isEnabled &&
  html`<form method="post" action="${address}/test">${idempotencyField()}<button>Send test message</button></form>`
}
${
  isEnabled
    ? confirmButton({
        id: "pause",
        button: "Pause webhook",
        keep: "Keep it enabled",
        danger: false,
        title: `Pause ${host} of ${environment}?`,
        detail:
          "Nothing is sent until the webhook is enabled again. The webhook then misses what happened in between: recover these messages on this page.",
        fields: versionInput(webhook.version),
        action: `${address}/pause`,
      })
    : html`<form method="post" action="${address}/enable">${versionInput(webhook.version)}<button class="main">Enable webhook</button></form>`
}
${confirmButton({
  id: "rotate",
  button: "Rotate secret",
  keep: "Keep the secret",
  danger: false,
  title: `Rotate the secret of ${host} in ${environment}?`,
  detail: "New messages are signed with a new secret, which is shown once.",
  fields: selectField({
    name: "graceSeconds",
    label: "The present secret",
    options: graces,
    value: String(limits.webhookGraceSeconds),
  }),
  action: `${address}/rotate`,
})}
${confirmButton({
  id: "delete",
  button: "Delete webhook",
  keep: "Keep it",
  title: `Delete ${host} of ${environment}?`,
  detail:
    "All deliveries stop, and the log of deliveries is deleted. This cannot be undone; to stop for a while, pause the webhook.",
  fields: versionInput(webhook.version),
  action: `${address}/delete`,
})}</div>`
}

/** The page of a webhook. `error` is the refusal of one of its forms. */
export const webhookPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  error?: LaurelError,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, show } = visit
  const webhook = yield* ask("webhooks.get", { params: ofPage(visit) })
  const failure = yield* failureAlert(visit, webhook)
  const deliveries = yield* deliveriesSection(visit, webhook)
  const secret = secretSection(visit)
  const allowed = mayChange(visit)
  const { dropped, failed, pending, succeeded } = webhook.deliveries
  return show(
    `Webhook to ${hostOf(webhook)}`,
    html`${noticeOf(visit)}${refusal(error, ["since"])}${failure}
<p>${urlOf(webhook)}</p>
${webhook.description !== null && html`<p>${isolated(webhook.description)}</p>`}
${secret}
${properties([
  ["Status", statusText(webhook)],
  ["Events", webhook.events.map((pattern) => html`<code>${pattern}</code> `)],
  ["Last success", isoTimeWithSeconds(webhook.lastSuccessAt)],
  ["Pending", pending],
  ["Succeeded", succeeded],
  ["Failed", failed],
  ["Dropped", dropped],
  ["Created", isoTime(webhook.createdAt)],
])}
${allowed && actions(visit, webhook)}
${deliveries}
${allowed && recoverForm(visit, webhook, error)}
<h2>Receiver</h2>
${verificationSection()}`,
    error,
  )
})

/* The form of a webhook: create, change. */

type Answer = Effect.Effect<Reply, LaurelError>

/** The values of the form's fields. */
interface Draft {
  readonly url: string
  readonly description: string
  readonly events: ReadonlyArray<string>
}

const draftOf = (form: Form): Draft => ({
  url: form.text("url").trim(),
  description: form.text("description").trim(),
  events: form.all("events"),
})

const blank: Draft = { url: "", description: "", events: [] }
const savedDraft = ({ description, events, url }: Counted): Draft => ({
  url,
  description: description ?? "",
  events,
})

type Choice = readonly [pattern: string, label: Content, hint: Content]

/** A description of the contract, whose names of members stand between backticks. */
const described = (description: string): Content =>
  description.split("`").map((part, place) => (place % 2 === 1 ? html`<code>${part}</code>` : part))

type Part = readonly [title: string, choices: ReadonlyArray<Choice>]

/** All messages and other patterns of the webhook, then each family with its kinds. */
const choicesOf = Effect.fnUntraced(function* (
  { ask }: PlaceVisit,
  { events }: Draft,
): Effect.fn.Return<ReadonlyArray<Part>, LaurelError> {
  const { kinds } = yield* ask("webhooks.catalogue")
  const families = Map.groupBy(kinds, ({ kind }) => kind.slice(0, kind.indexOf(".")))
  const parts = Array.from(families, ([name, own]): Part => {
    const all: Choice = [
      `${name}.*`,
      html`<code>${name}.*</code>`,
      `All ${own.length} kinds of ${name}.`,
    ]
    const each = own.map(
      ({ description, kind }): Choice => [kind, html`<code>${kind}</code>`, described(description)],
    )
    return [capitalized(name), own.length > 1 ? [all, ...each] : each]
  })
  const known = new Set(parts.flatMap(([, choices]) => choices.map(([pattern]) => pattern)))
  const others = events
    .filter((pattern) => pattern !== "*" && !known.has(pattern))
    .slice(0, limits.webhookKindsMax)
  const whole: ReadonlyArray<Choice> = [
    ["*", html`<code>*</code>`, "Every message, also of kinds that a later version adds."],
    ...others.map((pattern): Choice => [pattern, html`<code>${pattern}</code>`, "Chosen before."]),
  ]
  return [["", whole], ...parts]
})

const fields = (
  { place }: PlaceVisit,
  draft: Draft,
  parts: ReadonlyArray<Part>,
  faults: ReadonlyArray<Fault> | undefined,
): Html => html`${textField({
  name: "url",
  label: "URL",
  type: "url",
  value: draft.url,
  required: true,
  charactersMax: limits.urlCharactersMax,
  hint: `The address of your receiver, which takes a POST. ${
    place.environment === "production"
      ? "In production it begins with https."
      : "Use one for tests: production has webhooks of its own."
  }`,
  faults,
})}
${textField({
  name: "description",
  label: "Description",
  value: draft.description,
  charactersMax: limits.descriptionCharactersMax,
  hint: "For your team; the receiver does not get it.",
  faults,
})}
${choiceField({ name: "events", label: "Events", parts, chosen: draft.events, faults })}`

const names = ["url", "description", "events"]

const formPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  {
    action,
    draft,
    error,
    extra,
    submit,
    title,
  }: {
    readonly title: string
    readonly action: string
    readonly submit: string
    readonly draft: Draft
    readonly extra?: Content
    readonly error?: LaurelError | undefined
  },
): Effect.fn.Return<Reply, LaurelError> {
  const choices = yield* choicesOf(visit, draft)
  return visit.show(
    title,
    html`${refusal(error, [...names, ...draft.events.map((_, index) => `events.${index}`)])}
<form method="post" action="${action}">${extra}
${fields(visit, draft, choices, error?.errors)}
<p class="row"><button class="main">${submit}</button> <a href="${listAddress(visit)}">Back to webhooks</a></p></form>`,
    error,
  )
})

const createPage = (visit: PlaceVisit, draft: Draft, error?: LaurelError): Answer =>
  formPage(visit, {
    title: `Create webhook in ${visit.place.environment}`,
    action: `${listAddress(visit)}/new`,
    submit: "Create webhook",
    draft,
    error,
    extra: idempotencyField(),
  })

interface ChangeForm {
  readonly draft: Draft
  readonly error?: LaurelError
  /** The version that the form was made from. Default: the present one. */
  readonly version?: number | undefined
}

const textsOf = ({ description, events, url }: Draft) =>
  new Map([
    ["url", url],
    ["description", description],
    ["events", events.join(", ")],
  ])

const changePage = (
  visit: PlaceVisit,
  webhook: Counted,
  { draft, error, version = webhook.version }: ChangeForm,
): Answer =>
  formPage(visit, {
    title: `Change webhook of ${visit.place.environment}`,
    action: `${webhookAddress(visit, webhook.id)}/change`,
    submit: "Save webhook",
    draft,
    error,
    extra: [
      versionInput(version),
      error?.code === "version_conflict" &&
        differences(textsOf(draft), textsOf(savedDraft(webhook))),
      confirmHint(visit, "A new URL", `${webhookAddress(visit, webhook.id)}/change`),
    ],
  })

const create = (visit: PlaceVisit): Answer => {
  const { ask, form } = visit
  const draft = draftOf(form)
  const created = Effect.gen(function* () {
    // The next page shows the secret.
    yield* confirmedInProduction(visit)
    const { description, ...others } = draft
    const webhook = yield* ask("webhooks.create", {
      payload: { ...others, ...(description !== "" && { description }) },
      idempotencyKey: form.optional("idempotencyKey"),
    })
    const shown = secretRedirect(visit, webhook.id, { secret: webhook.secret, until: null })
    return about(shown, { subject: webhook.id, detail: hostOf(webhook) })
  })
  return orPage(created, (error) => createPage(visit, draft, error))
}

const change = (visit: PlaceVisit): Answer =>
  Effect.gen(function* () {
    const { ask, form } = visit
    const params = ofPage(visit)
    const webhook = yield* ask("webhooks.get", { params })
    const draft = draftOf(form)
    const ifMatch = versionIn(form)
    const payload = { ...draft, description: draft.description === "" ? null : draft.description }
    // All messages go to the new URL, pending ones included.
    const mayChange = draft.url === webhook.url ? Effect.void : confirmedInProduction(visit)
    const changed = Effect.map(
      Effect.andThen(mayChange, ask("webhooks.update", { params, payload, ifMatch })),
      (saved) => about(redirect(webhookAddress(visit, webhook.id)), { detail: hostOf(saved) }),
    )
    return yield* orPage(changed, (error) =>
      error.code === "version_conflict"
        ? // The form gets the new version, so that saving again is a decision.
          Effect.flatMap(ask("webhooks.get", { params }), (now) =>
            changePage(visit, now, { draft, error }),
          )
        : changePage(visit, webhook, { draft, error, version: ifMatch }),
    )
  })

export const formRoutes: ReadonlyArray<Route> = [
  placePage(
    `${listPath}/new`,
    (visit) => Effect.andThen(confirmedInProduction(visit), createPage(visit, blank)),
    "admin",
  ),
  placeForm(`${listPath}/new`, "webhook.create", create),
  placePage(
    `${webhookPath}/change`,
    (visit) =>
      Effect.flatMap(visit.ask("webhooks.get", { params: ofPage(visit) }), (webhook) =>
        changePage(visit, webhook, { draft: savedDraft(webhook) }),
      ),
    "admin",
  ),
  placeForm(`${webhookPath}/change`, "webhook.change", change),
]
