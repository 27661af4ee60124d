/** The group of a user by an attribute: its value as text. */
import type { UserState } from "./User.ts"

/** Null: the user has no group. */
export const groupOf = (
  { attributes }: Pick<UserState["profile"], "attributes">,
  attribute: string,
): string | null => {
  if (!Object.hasOwn(attributes, attribute)) return null
  const value = attributes[attribute]!
  return value === "" ? null : String(value)
}
