/**
 * The checks of requests. Each has the code and the words of its fault, and its form in JSON Schema, so that the
 * decoder, the problem reports and the reference come from one place.
 */
import { type JsonSchema, Schema, SchemaIssue } from "effect"
import { isTimeZone } from "../../domain/values/Calendar.ts"
import { callerIdFault, characterCount } from "../../domain/values/Ids.ts"
import { metadataFault } from "../../domain/values/Metadata.ts"
import { limits } from "../../Limits.ts"

/** The kinds of faults in a request: the `code` of each of a problem's `errors`. */
export const faultCodes = {
  missing: "A required member is missing.",
  unknown_member: "The operation does not define this member or parameter.",
  invalid_type: "The value has the wrong JSON type.",
  invalid_format: "The text does not have the required form.",
  invalid_value: "The value is not allowed.",
  out_of_range: "The number or time is outside its range.",
  too_short: "The text or list is too short.",
  too_long: "The text or list is too long.",
  too_large: "The value takes too many bytes.",
  too_deep: "The value is nested too deeply.",
  duplicate: "The parameter, header field or item's key occurs more than once.",
  unknown_reference: "The id or key names nothing, or an archived definition.",
  cycle: "The prerequisite depends on the quest itself.",
} as const
export type FaultCode = keyof typeof faultCodes

/** A check that fails with `code` and `message`; `jsonSchema` is its JSON Schema, also for `InputBounds.ts`. */
export const check = <T>(
  code: FaultCode,
  message: string,
  holds: (value: T) => boolean,
  jsonSchema: JsonSchema.JsonSchema = {},
) =>
  Schema.makeFilter<T>(holds, {
    faultCode: code,
    message,
    keywords: jsonSchema,
    toJsonSchema: () => [{ ...jsonSchema }, true],
  })

const wellFormed = check<string>("invalid_format", "must be well-formed Unicode", (text) =>
  text.isWellFormed(),
)

/** Text of `min` to `max` characters (code points); line breaks only where `lines` says so. */
export const text = (min: number, max: number, lines: "single" | "multiple" = "single") => {
  const forbidden = lines === "single" ? controlCharacter : controlCharacterButLayout
  return Schema.String.check(
    check("too_short", "must not be empty", (value) => value.length >= min, { minLength: min }),
    check(
      "too_long",
      `must have at most ${max} characters`,
      (value) => value.length <= max || (value.length <= 2 * max && characterCount(value) <= max),
      { maxLength: max },
    ),
    check(
      "invalid_format",
      "must not contain control characters",
      (value) => !forbidden.test(value),
    ),
    wellFormed,
  )
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const controlCharacterButLayout = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/

/** Text that matches `pattern`; `form` names the form in words. */
export const pattern = (pattern: RegExp, form: string) =>
  Schema.String.check(
    check("invalid_format", `must be ${form}`, (value) => pattern.test(value), {
      pattern: pattern.source,
    }),
  )

/** An integer from `minimum` to `maximum`. */
export const integer = (minimum: number, maximum: number) =>
  Schema.Int.check(
    check(
      "out_of_range",
      `must be from ${minimum} to ${maximum}`,
      (value) => value >= minimum && value <= maximum,
      { minimum, maximum },
    ),
  )

/** A number from `minimum` to `maximum`, whole or not. */
export const number = (minimum: number, maximum: number) =>
  Schema.Finite.check(
    check(
      "out_of_range",
      `must be from ${minimum} to ${maximum}`,
      (value) => value >= minimum && value <= maximum,
      { minimum, maximum },
    ),
  )

/** One of `values`. */
export const oneOf = <const Values extends ReadonlyArray<string>>(values: Values) =>
  Schema.Literals(values)

/** A list of `min` to `max` items. */
export const list = <S extends Schema.Top>(item: S, min: number, max: number) =>
  Schema.Array(item).check(
    check("too_short", `must have at least ${min}`, (value) => value.length >= min, {
      minItems: min,
    }),
    check("too_long", `must have at most ${max}`, (value) => value.length <= max, {
      maxItems: max,
    }),
  )

/** A fault of the member at `path` of the checked value. */
export const faultAt = (path: ReadonlyArray<PropertyKey>, code: FaultCode, message: string) => ({
  path,
  issue: issue(code, message),
})

/** No two items of a list have the same value at `path`. */
export const distinct = <Item>(path: ReadonlyArray<string>, keyOf: (item: Item) => unknown) =>
  Schema.makeFilter<ReadonlyArray<Item>>(
    (items) => {
      const seen = new Set<unknown>()
      return items.flatMap((item, index) => {
        const value = keyOf(item)
        if (seen.has(value)) {
          return [faultAt([index, ...path], "duplicate", "must occur only once")]
        }
        seen.add(value)
        return []
      })
    },
    { toJsonSchema: () => [{}, true] },
  )

/** An id that the caller chose. */
export const callerId = Schema.String.check(
  Schema.makeFilter<string>(
    (value) => {
      const fault = callerIdFault(value)
      return fault === undefined || issue(idFaultCode(fault), fault)
    },
    { toJsonSchema: () => [{ minLength: 1, maxLength: limits.idCharactersMax }, true] },
  ),
)

/** The stable code of the fault from `callerIdFault`. */
export const idFaultCode = (fault: string): FaultCode =>
  fault.includes("empty") ? "too_short" : fault.includes("at most") ? "too_long" : "invalid_format"

/** The name of a time zone. */
export const timeZone = Schema.String.check(
  check("invalid_value", "must be an IANA time zone", isTimeZone),
).annotate({ description: "An IANA time zone.", examples: ["Europe/Berlin"] })

/** Free-form details: an object, bounded in bytes and depth. */
export const metadata = Schema.Record(Schema.String, Schema.Unknown).check(
  Schema.makeFilter<{ readonly [key: string]: unknown }>(
    (value) => {
      const fault = metadataFault(value)
      return fault === undefined || issue(fault.code, fault.detail)
    },
    { wholeFault: metadataFault, toJsonSchema: () => [{}, true] },
  ),
)

const issue = (code: FaultCode, message: string) =>
  new SchemaIssue.InvalidValue({ message, faultCode: code })
