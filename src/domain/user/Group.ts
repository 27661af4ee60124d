/** The values of attributes as text, and the group of a user by one of them. */
import type { UserState } from "./User.ts"

type Attributes = UserState["profile"]["attributes"]

/** The value of an attribute as text; `undefined`: there is none. */
export const attributeText = (attributes: Attributes, name: string): string | undefined =>
  Object.hasOwn(attributes, name) ? String(attributes[name]) : undefined

/** Null: the user has no group. */
export const groupOf = (
  { attributes }: { readonly attributes: Attributes },
  attribute: string,
): string | null => attributeText(attributes, attribute) || null
