/** The settings of an environment: the form, what a change will do, and the pages. */

import { Effect } from "effect"
import { environmentId } from "../../../domain/project/Directory.ts"
import { type LevelCurve, levelCurveKinds, levelStart } from "../../../domain/project/Level.ts"
import { canonicalTimeZone, windowKinds, zoneOf } from "../../../domain/values/Calendar.ts"
import { errorKinds, type LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { noticeOf, redirectWithNotice } from "../../request/notice.ts"
import {
  mayChange,
  type PlaceVisit,
  placeForm,
  placePage,
  type Route,
} from "../../request/Route.ts"
import {
  type Draft,
  differences,
  draftRefusal,
  firstButton,
  saveRow,
  type Texts,
  trimmed,
  versionField,
  versionIn,
  versionInput,
} from "../../view/Editing.ts"
import {
  areaField,
  type Form,
  formOf,
  group,
  numberField,
  refusal,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { rearranged, table, withoutBlankRows } from "../../view/Lists.ts"
import { time } from "../../view/Quantities.ts"
import type { Reply } from "../../view/Replies.ts"
import {
  curveFields,
  curveKindOf,
  curveLabels,
  curveNames,
  curveOf,
  curveTexts,
} from "../definitions/levelForms.ts"

export interface Changed {
  readonly timezone: string
  readonly levelCurve: LevelCurve
  readonly clientActions: ReadonlyArray<string>
}

/** The number of levels shown; the last row has all higher levels. */
const levelsShown = 20

/** The number of users at each of the first levels, then the number above them. */
const usersByLevel = Effect.fnUntraced(function* (
  { place, reads }: PlaceVisit,
  curve: LevelCurve,
): Effect.fn.Return<ReadonlyArray<number>> {
  const environment = environmentId(place.project.id, place.environment)
  const { users } = yield* reads.readCounts(environment)
  const starts = Array.from({ length: levelsShown }, (_, index) => levelStart(curve, index + 2))
  const above = yield* reads.readCountsAtLeast(environment, starts)
  const atLeast = [users, ...above]
  return atLeast.map((count, index) => count - (atLeast[index + 1] ?? 0))
})

const startWords = (start: number): Content => (start === Number.POSITIVE_INFINITY ? "none" : start)

const levels = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  now: LevelCurve,
  then: LevelCurve,
): Effect.fn.Return<Html> {
  const before = yield* usersByLevel(visit, now)
  const after = yield* usersByLevel(visit, then)
  const rows = before.map((count, index) => {
    const level = index + 1
    const [from, to] = [levelStart(now, level), levelStart(then, level)]
    return level > levelsShown
      ? [`above ${levelsShown}`, "", "", count, after[index]]
      : [level, startWords(from), [startWords(to), from !== to && " changed"], count, after[index]]
  })
  return html`<h3>Levels</h3>
<p class="hint">Xp stay; every user's level changes at once, without a message. Users who are hidden from leaderboards are counted at level 1.</p>
${table("Levels", ["Level", "Begins now at", "Would begin at", "Users now", "Users then"], rows)}`
})

const windows = ({ time: timeNow }: PlaceVisit, before: string, after: string): Html => {
  const at = timeNow()
  const endOf = (name: string, kind: (typeof windowKinds)[number]) => {
    const zone = zoneOf(name)
    return time(zone.windowBounds(kind, zone.windowAt(kind, at)).endsAt)
  }
  return html`<h3>Time zone</h3>
<p class="hint">Leaderboards, limits and recurring quests follow it from then on. Windows that are closed stay closed.</p>
${table(
  "Time zone",
  ["Window", "Ends now", "Would end"],
  windowKinds.map((kind) => [kind, endOf(before, kind), endOf(after, kind)]),
)}`
}

const clientActions = (before: ReadonlyArray<string>, after: ReadonlyArray<string>) => {
  const lines = [
    ...after
      .filter((action) => !before.includes(action))
      .map((action) => `Users may send ${action} themselves.`),
    ...before
      .filter((action) => !after.includes(action))
      .map((action) => `Users may not send ${action} themselves any more.`),
  ]
  return lines.length === 0
    ? undefined
    : html`<h3>Actions of clients</h3><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`
}

/** The effects where `then` replaces `now`. */
const changesSection = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  now: Changed,
  then: Changed,
): Effect.fn.Return<Html> {
  const isCurve = JSON.stringify(now.levelCurve) !== JSON.stringify(then.levelCurve)
  const parts = [
    isCurve && (yield* levels(visit, now.levelCurve, then.levelCurve)),
    now.timezone !== then.timezone && windows(visit, now.timezone, then.timezone),
    clientActions(now.clientActions, then.clientActions),
  ].filter((part) => part instanceof Object)
  return html`<section id="changes" aria-labelledby="changes-title"><h2 id="changes-title">Effect on users</h2>
${parts.length === 0 ? html`<p>Nothing that users notice.</p>` : parts}</section>`
})

/*
 * The form of an environment's settings: name, time zone, level curve, actions of clients.
 */

export type Settings = BodyOf<"project.get">

const zones = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")]

const textsOf = ({ clientActions, levelCurve, name, reminders, timezone }: Settings) =>
  new Map([
    ["name", name],
    ["timezone", timezone],
    ...curveTexts(curveName, levelCurve),
    ["clientActions", clientActions.join("\n")],
    ["reminders.inactiveDays", reminders?.inactiveDays.join(", ") ?? ""],
    ["reminders.questDays", `${reminders?.questDays ?? ""}`],
    ["reminders.expiryDays", `${reminders?.expiryDays ?? ""}`],
    ["reminders.leagueDays", `${reminders?.leagueDays ?? ""}`],
    ["reminders.hour", `${reminders?.hour ?? 10}`],
    ["reminders.unless", reminders?.unless ?? ""],
  ])

const wordsOf = (form: Form, name: string): ReadonlyArray<string> =>
  form
    .text(name)
    .split(/[\s,;]+/)
    .filter((word) => word !== "")

const curveName = "levelCurve"

const kindOf = (form: Form) => curveKindOf(form, curveName) ?? "quadratic"

/**
 * The patch of the form. A name that equals the project's is not saved as a name of the
 * environment.
 */
const patchOf = (form: Form, projectName: string) => {
  const name = form.text("name")
  return {
    name: name === "" || name === projectName ? null : name,
    timezone: form.text("timezone"),
    levelCurve: curveOf(form, curveName, kindOf(form)),
    clientActions: wordsOf(form, "clientActions"),
    reminders: remindersOf(form),
  }
}

/** Without days there are no reminders. */
const remindersOf = (form: Form) => {
  const days = wordsOf(form, "reminders.inactiveDays")
  const before = (name: string) => {
    const days = form.text(name).trim()
    return days === "" ? null : Number(days)
  }
  const questDays = before("reminders.questDays")
  const expiryDays = before("reminders.expiryDays")
  const leagueDays = before("reminders.leagueDays")
  if (days.length === 0 && (questDays ?? expiryDays ?? leagueDays) === null) return null
  const unless = form.text("reminders.unless")
  return {
    inactiveDays: days.map((word) => (/^\d+$/.test(word) ? Number(word) : word)),
    questDays,
    expiryDays,
    leagueDays,
    hour: Number(form.text("reminders.hour") || 10),
    unless: unless === "" ? null : unless,
  }
}

const curveGroup = (draft: Draft): Html => {
  const { address, faults, form } = draft
  const kind = kindOf(form)
  return group({ legend: "Levels", name: "levelCurve", faults }, [
    html`<div class="row fields">${selectField({
      name: "levelCurve.kind",
      label: "Curve",
      value: kind,
      options: levelCurveKinds.map((one) => [one, curveLabels[one]]),
      faults,
    })}<button formaction="${address}" name="intent" value="kind" formnovalidate>Show its fields</button></div>`,
    curveFields(draft, curveName, kind),
  ])
}

const reminderGroup = ({ faults, form }: Draft): Html =>
  group({ legend: "Reminders", name: "reminders", faults }, [
    textField({
      name: "reminders.inactiveDays",
      label: "Days without an event",
      value: form.text("reminders.inactiveDays"),
      hint: "After so many days the message user.inactive is sent, such as 3, 7, 30. None, if empty.",
      faults,
      below: true,
    }),
    numberField({
      name: "reminders.questDays",
      label: "Days before a quest ends",
      value: form.text("reminders.questDays"),
      hint: "Then quest.ending is sent to users who have begun it. Never, if empty.",
      faults,
    }),
    numberField({
      name: "reminders.expiryDays",
      label: "Days before amounts expire",
      value: form.text("reminders.expiryDays"),
      hint: "Then currency.expiring is sent. Never, if empty.",
      faults,
    }),
    numberField({
      name: "reminders.leagueDays",
      label: "Days before a league's window ends",
      value: form.text("reminders.leagueDays"),
      hint: "Then league.closing is sent to the users of its cohorts. Never, if empty.",
      faults,
    }),
    numberField({
      name: "reminders.hour",
      label: "Hour of the user's clock",
      value: form.text("reminders.hour"),
      faults,
    }),
    textField({
      name: "reminders.unless",
      label: "Unless",
      value: form.text("reminders.unless"),
      hint: "Users whose attribute with this name is true get none.",
      faults,
    }),
  ])

const fields = (draft: Draft): Content => {
  const { faults, form } = draft
  return [
    textField({
      name: "name",
      label: "Name",
      value: form.text("name"),
      hint: "Shown to people. That of the project, if empty.",
      faults,
    }),
    textField({
      name: "timezone",
      label: "Time zone",
      value: form.text("timezone"),
      list: "zones",
      hint: "Of days, weeks and months, and of users without a zone of their own.",
      required: true,
      faults,
    }),
    html`<datalist id="zones">${zones.map((zone) => html`<option value="${zone}">`)}</datalist>`,
    curveGroup(draft),
    areaField({
      name: "clientActions",
      label: "Actions of clients",
      value: form.text("clientActions"),
      rows: 3,
      hint: "Actions that users may send themselves, with a user token, one a line. A user can send them at any time and with any metadata. None, if empty.",
      faults,
      below: true,
    }),
    reminderGroup(draft),
  ]
}

const names = (form: Form): ReadonlyArray<string> => [
  "name",
  "timezone",
  "levelCurve",
  ...curveNames(curveName, kindOf(form)),
  "clientActions.*",
  "reminders",
  "reminders.inactiveDays.*",
  "reminders.questDays",
  "reminders.expiryDays",
  "reminders.leagueDays",
  "reminders.hour",
  "reminders.unless",
]

/* The settings of an environment, with a preview of what a change does. */

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
  const version = (changed === undefined && form.text(versionField)) || settings.version
  return visit.show(
    "Settings",
    html`${noticeOf(visit)}
${changed !== undefined && differences(form.texts(), changed)}
${preview}
${refusal(error, names(form))}
<form method="post" action="${own}">
${firstButton}
${versionInput(version)}
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
    error ?? (changed === undefined ? 200 : errorKinds.version_conflict.status),
  )
}

/** Checks the change by a preview of the contract. The event of the preview changes nothing. */
const checked = (visit: PlaceVisit, settings: unknown): Effect.Effect<unknown, LaurelError> =>
  Effect.mapError(
    visit.ask("project.preview", {
      payload: { event: { userId: "preview", action: "PREVIEW" }, settings },
    }),
    (error) => draftRefusal(error, "settings"),
  )

type ValidPatch = Pick<Changed, "clientActions" | "levelCurve" | "timezone">

const preview = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  settings: Settings,
  form: Form,
): Effect.fn.Return<Reply, LaurelError> {
  const patch = patchOf(form, visit.place.project.name)
  yield* checked(visit, patch)
  // The patch has passed the schema, and has all members of its curve.
  const { clientActions, levelCurve, timezone } = patch as unknown as ValidPatch
  const changes = yield* changesSection(visit, settings, {
    clientActions,
    levelCurve,
    timezone: canonicalTimeZone(timezone)!,
  })
  return settingsPage(visit, settings, { form, preview: changes })
})

/** The sent form beside the saved settings. */
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
      const { version } = settings
      if ((versionIn(form) ?? version) !== version) {
        return settingsPage(visit, settings, { form, changed: textsOf(settings) })
      }
      const whole = withoutBlankRows(form)
      const payload = patchOf(whole, visit.place.project.name)
      return yield* visit.ask("project.update", { payload, ifMatch: version }).pipe(
        Effect.as(redirectWithNotice(visit, address(visit), "Saved.")),
        Effect.catch((error) =>
          error.code === "version_conflict"
            ? // Somebody else's change came between the look and the change.
              Effect.map(visit.ask("project.get"), (now) =>
                settingsPage(visit, now, { form: whole, changed: textsOf(now) }),
              )
            : Effect.succeed(settingsPage(visit, settings, { form: whole, error })),
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
