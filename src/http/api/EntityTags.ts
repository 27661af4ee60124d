/**
 * Entity tags (RFC 9110, sections 8.8.3 and 13.1): the version of a definition, a webhook, the
 * settings or all definitions, as `ETag: "3"`. A change on condition (`If-Match`) is decided by the
 * project's actor; a read on condition (`If-None-Match`) by its handler.
 */
import { Schema, SchemaTransformation } from "effect"
import type { IfMatch } from "../../domain/decide/Decided.ts"
import { limits } from "../../Limits.ts"
import { charactersMax, check, idempotencyHeaders } from "./Common.ts"

/** The tag of a version. */
export const entityTag = (version: number): string => `"${version}"`

interface Tag {
  readonly weak: boolean
  readonly value: string
}

/** Sticky: each match begins where the one before ended, so reading a field takes linear time. */
const nextTag = /[ \t,]*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?=,|$)/y
const restOfList = /^[ \t,]*$/

/** The tags of a field; `undefined` for a field with another form. */
const tagsOf = (field: string): "*" | ReadonlyArray<Tag> | undefined => {
  if (field.trim() === "*") return "*"
  const tags: Array<Tag> = []
  let end = 0
  nextTag.lastIndex = 0
  for (let found = nextTag.exec(field); found !== null; found = nextTag.exec(field)) {
    tags.push({ weak: found[1] !== undefined, value: found[2]! })
    end = nextTag.lastIndex
  }
  return tags.length > 0 && restOfList.test(field.slice(end)) ? tags : undefined
}

/** The version that a tag names; `undefined`: no version has this tag. */
const versionOf = ({ value }: Tag): number | undefined => {
  const version = Number(value)
  return Number.isSafeInteger(version) && String(version) === value ? version : undefined
}

/** The versions of the tags in a field; a weak tag counts only if `weakly`. */
const versionsOf = (field: string, weakly: boolean): IfMatch => {
  const tags = tagsOf(field)
  if (tags === undefined || tags === "*") return "*"
  return tags.flatMap((tag) => (weakly || !tag.weak ? (versionOf(tag) ?? []) : []))
}

const versions = (description: string, weakly: boolean) =>
  Schema.String.check(
    charactersMax(limits.entityTagsCharactersMax),
    check(
      "invalid_format",
      'must be `*` or a list of entity tags in quotes, such as "3"',
      (field) => tagsOf(field) !== undefined,
    ),
  )
    .annotate({ description, examples: ['"3"'] })
    .pipe(
      Schema.decodeTo(
        Schema.Union([Schema.Literal("*"), Schema.Array(Schema.Int)]),
        SchemaTransformation.transform({
          decode: (field) => versionsOf(field, weakly),
          encode: (known: IfMatch) => (known === "*" ? known : known.map(entityTag).join(", ")),
        }),
      ),
    )

/** The header fields of a change on condition. */
export const changeHeaders = {
  ...idempotencyHeaders,
  "if-match": Schema.optionalKey(
    versions(
      "The versions to change, as in `ETag`: one or more, or `*`. With any other present version the reply is 412 `version_conflict`, which names it, and nothing changes. A weak tag matches no version.",
      false,
    ),
  ),
}

/** The header fields of a read on condition. */
export const readHeaders = {
  "if-none-match": Schema.optionalKey(
    versions(
      "The versions that you have, as in `ETag`, or `*`. If the present one is among them, the reply is 304 without a body.",
      true,
    ),
  ),
}
