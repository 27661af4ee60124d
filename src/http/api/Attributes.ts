/** The custom attributes of users and teams. */
import { Schema } from "effect"
import { nameFault } from "../../domain/values/Ids.ts"
import { limits } from "../../Limits.ts"
import { check, faultAt, idFaultCode, text } from "./Common.ts"

const { attributesMax, attributeNameCharactersMax, attributeTextCharactersMax } = limits

/** The attribute whose value is the address of a picture. */
export const avatarAttribute = "avatarUrl"

/** The picture of a user or a team, where names stand. */
export const AvatarUrl = (of: "user" | "team") =>
  Schema.optionalKey(
    Schema.String.annotate({
      description: `The ${of}'s attribute \`${avatarAttribute}\`, as text; Laurel does not check it. Absent: none.`,
      examples: ["https://example.com/ada.png"],
    }),
  )

/** The custom attributes of a user or a team. */
export const customAttributes = (
  of: "user" | "team",
  example: { readonly [name: string]: string | number | boolean },
) =>
  attributesOf.annotate({
    description: `Replaces the ${of}'s custom attributes: at most ${attributesMax} texts (at most ${attributeTextCharactersMax} characters), numbers or booleans, under names of at most ${attributeNameCharactersMax} characters.`,
    examples: [example],
  })

const attributesOf = Schema.Record(
  Schema.String,
  Schema.Union([text(0, attributeTextCharactersMax, "multiple"), Schema.Finite, Schema.Boolean]),
).check(
  check(
    "too_long",
    `must have at most ${attributesMax} members`,
    (attributes) => Object.keys(attributes).length <= attributesMax,
    { maxProperties: attributesMax },
  ),
  Schema.makeFilter(
    (attributes) =>
      Object.keys(attributes).flatMap((name) => {
        const fault = nameFault(name, attributeNameCharactersMax)
        return fault === undefined ? [] : [faultAt([name], idFaultCode(fault), `its name ${fault}`)]
      }),
    { toJsonSchema: () => [{}, true] },
  ),
)
