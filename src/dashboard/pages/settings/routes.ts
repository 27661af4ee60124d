/** The settings of an environment, with a preview of what a change does. */
import { Effect } from "effect"
import { canonicalTimeZone } from "../../../domain/values/Calendar.ts"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import { noticeOf, redirectWithNotice } from "../../request/notice.ts"
import {
  mayChange,
  type PlaceVisit,
  placeForm,
  placePage,
  type Route,
} from "../../request/Route.ts"
import {
  differences,
  draftRefusal,
  firstButton,
  saveRow,
  type Texts,
  trimmed,
  versionField,
} from "../../view/Editing.ts"
import { type Form, formOf, refusal } from "../../view/Forms.ts"
import { type Content, html } from "../../view/Html.ts"
import type { Reply } from "../../view/Replies.ts"
import { rearranged, withoutBlankRows } from "../../view/Rows.ts"
import { type Changed, changesSection } from "./changes.ts"
import { fields, names, patchOf, type Settings, textsOf, versionOf } from "./fields.ts"

const path = "/settings"
const address = ({ base }: PlaceVisit) => `${base}${path}`

interface Shown {
  readonly form: Form
  readonly error?: LaurelError
  readonly changed?: Texts
  readonly preview?: Content
}

const settingsPage = (visit: PlaceVisit, settings: Settings, shown: Shown): Reply => {
  const { changed, error, form, preview } = shown
  const editable = mayChange(visit)
  const own = address(visit)
  const draft = { form, faults: error?.errors, address: `${own}/draft` }
  const version = (changed === undefined && form.text(versionField)) || versionOf(settings)
  return visit.show(
    "Settings",
    html`${noticeOf(visit)}
${changed !== undefined && differences(form, changed)}
${preview}
${refusal(error, names(form))}
<form method="post" action="${own}">
${firstButton}
<input type="hidden" name="${versionField}" value="${version}">
<fieldset class="bare"${!editable && html` disabled`}>
${fields(draft)}
</fieldset>
${
  editable && [
    html`<p><button formaction="${own}/draft#changes" name="intent" value="preview" formnovalidate>Preview changes</button></p>`,
    saveRow(visit.place, "Save settings"),
  ]
}
</form>`,
    error ?? (changed === undefined ? 200 : 409),
  )
}

/** The change is checked as the contract does, with an event that earns nobody anything. */
const checked = (visit: PlaceVisit, settings: unknown): Effect.Effect<unknown, LaurelError> =>
  Effect.mapError(
    visit.ask("project.preview", {
      payload: { event: { userId: "preview", action: "PREVIEW" }, settings },
    }),
    (error) => draftRefusal(error, "settings"),
  )

interface ValidPatch extends Pick<Changed, "clientActions" | "levelCurve" | "timezone"> {
  readonly streaks: ReadonlyArray<{
    readonly key: string
    readonly actions: ReadonlyArray<string>
    readonly freezes: {
      readonly initial?: number
      readonly max?: number
      readonly everyDays: number | null
    }
  }>
}

const preview = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  settings: Settings,
  form: Form,
): Effect.fn.Return<Reply, LaurelError> {
  const patch = patchOf(form, visit.place.project.name)
  yield* checked(visit, patch)
  // The patch has passed the schema, and has all members of its curve.
  const { clientActions, levelCurve, streaks, timezone } = patch as unknown as ValidPatch
  const changes = yield* changesSection(visit, settings, {
    clientActions,
    levelCurve,
    timezone: canonicalTimeZone(timezone)!,
    streaks: streaks.map(({ actions, freezes, key }) => {
      const { everyDays, initial = 0, max = initial } = freezes
      return { key, actions, freezes: { initial, max, everyDays } }
    }),
  })
  return settingsPage(visit, settings, { form, preview: changes })
})

/** The form that was sent, beside the settings as they are. */
const sent = Effect.fnUntraced(function* (visit: PlaceVisit) {
  const settings = yield* visit.ask("project.get")
  return { settings, form: trimmed(visit.form, textsOf(settings)) }
})

export const settingsRoutes: ReadonlyArray<Route> = [
  placePage(path, (visit) =>
    Effect.map(visit.ask("project.get"), (settings) =>
      settingsPage(visit, settings, { form: formOf(textsOf(settings)) }),
    ),
  ),
  placeForm(
    path,
    "settings.update",
    Effect.fnUntraced(function* (visit) {
      const { form, settings } = yield* sent(visit)
      const version = form.text(versionField)
      if (version !== "" && version !== versionOf(settings)) {
        return settingsPage(visit, settings, { form, changed: textsOf(settings) })
      }
      const whole = withoutBlankRows(form)
      const payload = patchOf(whole, visit.place.project.name)
      return yield* visit.ask("project.update", { payload }).pipe(
        Effect.as(redirectWithNotice(visit, address(visit), "Saved.")),
        Effect.catch((error) =>
          Effect.succeed(settingsPage(visit, settings, { form: whole, error })),
        ),
      )
    }),
  ),
  placeForm(
    `${path}/draft`,
    "none",
    Effect.fnUntraced(function* (visit) {
      const { form, settings } = yield* sent(visit)
      const intent = form.text("intent")
      if (intent !== "preview") {
        return settingsPage(visit, settings, { form: rearranged(form, intent) ?? form })
      }
      const whole = withoutBlankRows(form)
      return yield* Effect.catch(preview(visit, settings, whole), (error) =>
        Effect.succeed(settingsPage(visit, settings, { form: whole, error })),
      )
    }),
  ),
]
