/** The form of a webhook: create, change. */
import { Effect } from "effect"
import type { Fault, LaurelError } from "../../../domain/values/Errors.ts"
import { limits } from "../../../Limits.ts"
import { confirmHint } from "../../request/notice.ts"
import {
  confirmedInProduction,
  orPage,
  type PlaceVisit,
  placeForm,
  placePage,
  type Route,
} from "../../request/Route.ts"
import { choiceField, type Form, idempotencyField, refusal, textField } from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { about, type Reply, redirect } from "../../view/Replies.ts"
import { secretRedirect } from "./secret.ts"
import {
  type Counted,
  hostOf,
  listAddress,
  listPath,
  ofPage,
  webhookAddress,
  webhookPath,
} from "./webhook.ts"

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

type Choice = readonly [pattern: string, label: Content, hint: string]

/** All, the families of several kinds, each kind; then patterns that the webhook has besides. */
const choicesOf = Effect.fnUntraced(function* (
  { ask }: PlaceVisit,
  { events }: Draft,
): Effect.fn.Return<ReadonlyArray<Choice>, LaurelError> {
  const { kinds } = yield* ask("webhooks.catalogue")
  const families = Map.groupBy(kinds, ({ kind }) => kind.slice(0, kind.indexOf(".")))
  const offered: ReadonlyArray<Choice> = [
    ["*", html`<code>*</code>`, "Every message, also of kinds that a later version adds."],
    ...[...families]
      .filter(([, { length }]) => length > 1)
      .map(
        ([name, { length }]): Choice => [
          `${name}.*`,
          html`<code>${name}.*</code>`,
          `All ${length} kinds of ${name}.`,
        ],
      ),
    ...kinds.map(
      ({ description, kind }): Choice => [kind, html`<code>${kind}</code>`, description],
    ),
  ]
  const known = new Set(offered.map(([pattern]) => pattern))
  const others = events.filter((pattern) => !known.has(pattern)).slice(0, limits.webhookKindsMax)
  return [
    ...offered,
    ...others.map((pattern): Choice => [pattern, html`<code>${pattern}</code>`, "Chosen before."]),
  ]
})

const fields = (
  { place }: PlaceVisit,
  draft: Draft,
  choices: ReadonlyArray<Choice>,
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
${choiceField({ name: "events", label: "Events", options: choices, chosen: draft.events, faults })}`

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

const changePage = (
  visit: PlaceVisit,
  webhook: Counted,
  draft: Draft,
  error?: LaurelError,
): Answer =>
  formPage(visit, {
    title: `Change webhook of ${visit.place.environment}`,
    action: `${webhookAddress(visit, webhook.id)}/change`,
    submit: "Save webhook",
    draft,
    error,
    extra: confirmHint(visit, "A new URL", `${webhookAddress(visit, webhook.id)}/change`),
  })

const create = (visit: PlaceVisit): Answer => {
  const { ask, form } = visit
  const draft = draftOf(form)
  const created = Effect.gen(function* () {
    // The secret is shown.
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
    const payload = { ...draft, description: draft.description === "" ? null : draft.description }
    // All messages go to the new URL, among them those that wait.
    const mayChange = draft.url === webhook.url ? Effect.void : confirmedInProduction(visit)
    const changed = Effect.map(
      Effect.andThen(mayChange, ask("webhooks.update", { params, payload })),
      (saved) => about(redirect(webhookAddress(visit, webhook.id)), { detail: hostOf(saved) }),
    )
    return yield* orPage(changed, (error) => changePage(visit, webhook, draft, error))
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
        changePage(visit, webhook, savedDraft(webhook)),
      ),
    "admin",
  ),
  placeForm(`${webhookPath}/change`, "webhook.change", change),
]
