/**
 * What the pages of definitions share: the fields of key, description, status, segment, period and
 * metadata; the buttons and routes that change the status; the lists by status.
 */
import { isDeepStrictEqual } from "node:util"
import type { Status } from "../../../domain/project/Definition.ts"
import type { Fault } from "../../../domain/values/Errors.ts"
import { type Metadata, metadataFault } from "../../../domain/values/Metadata.ts"
import type { Draft } from "../../view/Editing.ts"
import {
  areaField,
  type Form,
  jsonField,
  jsonOf,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { isoTime } from "../../view/Quantities.ts"
import { withoutNulls } from "./editor.ts"

/** The members of a definition in replies. */
interface Shown {
  /** Absent: definitions of this kind are for every user. */
  readonly segment?: string | null
  readonly id: string
  readonly key: string
  readonly description: string | null
  readonly metadata: Metadata
  readonly status: Status
  readonly startsAt: string | null
  readonly endsAt: string | null
  readonly version: number
  readonly updatedAt: string
}

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

const isMetadata = (value: unknown): value is Metadata =>
  isObject(value) && metadataFault(value) === undefined

/* Texts, drafts and patches of the shared members. */

export const sharedTexts = ({ description, endsAt, metadata, segment, startsAt }: Shown) =>
  [
    ["description", description ?? ""],
    ...(segment === undefined ? [] : [["segment", segment ?? ""] as const]),
    ["startsAt", startsAt ?? ""],
    ["endsAt", endsAt ?? ""],
    ["metadata", metadataOf(metadata)],
  ] as const

/** The text of the field of metadata. */
export const metadataOf = (metadata: Metadata): string =>
  Object.keys(metadata).length === 0 ? "" : JSON.stringify(metadata, null, 2)

const sharedMembers = (form: Form) => ({
  description: form.text("description") || null,
  startsAt: form.text("startsAt") || null,
  endsAt: form.text("endsAt") || null,
})

/** The shared members of a new definition. */
export const sharedDraft = (form: Form) => ({
  ...withoutNulls({
    ...sharedMembers(form),
    segment: form.text("segment") || null,
    key: form.optional("key") ?? null,
    status: form.optional("status") ?? null,
  }),
  metadata: jsonOf(form.text("metadata")),
})

export const sharedPatch = (
  form: Form,
  definition: Pick<Shown, "metadata"> & { readonly segment?: string | null },
) => ({
  ...sharedMembers(form),
  ...(definition.segment !== undefined && { segment: form.text("segment") || null }),
  metadata: metadataPatchOf(form, definition),
})

/** The patch of the metadata to what is typed. */
export const metadataPatchOf = (form: Form, { metadata }: Pick<Shown, "metadata">): unknown => {
  const typed = jsonOf(form.text("metadata"))
  if (typed === undefined) return null
  return isMetadata(typed) ? metadataPatch(metadata, typed) : typed
}

export const sharedFaults = (
  form: Form,
  { metadata }: Pick<Shown, "metadata">,
): ReadonlyArray<Fault> => {
  const typed = jsonOf(form.text("metadata"))
  const detail = "cannot get a null by a change: leave the member out instead"
  return isMetadata(typed) && hasNewNull(metadata, typed)
    ? [{ pointer: "/metadata", code: "invalid_value", detail }]
    : []
}

export const sharedNames = [
  "key",
  "description",
  "status",
  "segment",
  "startsAt",
  "endsAt",
  "metadata.*",
]

/* Fields. */

export const descriptionField = ({ faults, form }: Draft): Html =>
  areaField({
    name: "description",
    label: "Description",
    value: form.text("description"),
    rows: 2,
    faults,
  })

export const keyField = ({ faults, form }: Draft, from: string): Html =>
  textField({
    name: "key",
    label: "Key",
    value: form.text("key"),
    hint: html`The name for code and files, such as <code>first-steps</code>. It never changes. Made from the ${from}, if empty.`,
    faults,
  })

/** The fields of description and, of a new definition, of key and status. */
export const headFields = (draft: Draft, isNew: boolean, from: string): Content => [
  descriptionField(draft),
  isNew && [
    keyField(draft, from),
    selectField({
      name: "status",
      label: "Status",
      value: draft.form.text("status"),
      options: [
        ["active", "active: in force from its start on"],
        ["draft", "draft: not in force, and users do not see it"],
      ],
      faults: draft.faults,
    }),
  ],
]

/**
 * The fields of segment, period and metadata. `endHint`: what happens at the end. `forAll`: without
 * a segment.
 */
export const tailFields = ({ faults, form }: Draft, endHint: string, forAll = false): Content => [
  !forAll &&
    textField({
      name: "segment",
      label: "Segment",
      value: form.text("segment"),
      hint: "The key of a segment, whose members it is for. For every user, if empty.",
      faults,
    }),
  textField({
    name: "startsAt",
    label: "Start",
    value: form.text("startsAt"),
    isTime: true,
    hint: html`With a zone, such as <code>2026-12-01T09:00:00Z</code>. At once, if empty.`,
    faults,
  }),
  textField({
    name: "endsAt",
    label: "End",
    value: form.text("endsAt"),
    isTime: true,
    hint: `${endHint} Never, if empty.`,
    faults,
  }),
  jsonField({
    name: "metadata",
    label: "Metadata",
    value: form.text("metadata"),
    hint: "A JSON object for your app.",
    faults,
  }),
]

export const periodWords = ({ endsAt, startsAt }: Shown): Content => {
  if (startsAt !== null && endsAt !== null) return html`${isoTime(startsAt)} – ${isoTime(endsAt)}`
  if (startsAt !== null) return html`from ${isoTime(startsAt)}`
  return endsAt !== null && html`to ${isoTime(endsAt)}`
}
