/**
 * The faults of what people enter about accounts. Pointers name the fields of the dashboard's
 * forms.
 */
import { limits } from "../../Limits.ts"
import type { Fault } from "../values/Errors.ts"
import { nameFault } from "../values/Ids.ts"
import {
  type Access,
  type AccountsState,
  accountWithEmail,
  type Invitation,
  normalEmail,
  type Passkey,
} from "./Account.ts"

/**
 * One character or more on either side of the `@`, no white space. Only the mail server knows more.
 */
const emailPattern = /^[^\s@]+@[^\s@]+$/

/** `own` is the account that may have the address already. */
export const emailFaults = (
  state: AccountsState,
  email: string,
  own?: string,
): ReadonlyArray<Fault> => {
  const normal = normalEmail(email)
  const detail = nameFault(normal, limits.emailCharactersMax)
  if (detail !== undefined) return [{ pointer: "/email", code: "invalid_format", detail }]
  if (!emailPattern.test(normal)) {
    const detail = "must be an e-mail address, such as ada@example.com"
    return [{ pointer: "/email", code: "invalid_format", detail }]
  }
  const taken = accountWithEmail(state, normal)
  return taken === undefined || taken.id === own
    ? []
    : [{ pointer: "/email", code: "invalid_value", detail: "belongs to another account" }]
}

export const nameFaults = (name: string): ReadonlyArray<Fault> => {
  const detail =
    name.trim() === "" ? "must not be empty" : nameFault(name, limits.accountNameCharactersMax)
  return detail === undefined ? [] : [{ pointer: "/name", code: "invalid_format", detail }]
}

/**
 * The faults of a new account. An invitation is for one address; the first owner of a setup chooses
 * one.
 */
export const newAccountFaults = (
  state: AccountsState,
  { email, name }: { readonly email: string; readonly name: string },
  invitation: Pick<Invitation, "email">,
): ReadonlyArray<Fault> => {
  const faults = emailFaults(state, email)
  const isOther = invitation.email !== null && normalEmail(email) !== invitation.email
  const detail = "must be the address that was invited"
  return [
    ...faults,
    ...(isOther && faults.length === 0
      ? [{ pointer: "/email", code: "invalid_value", detail }]
      : []),
    ...nameFaults(name),
  ]
}

/** The library that verified the passkey limits neither its id nor its key. */
export const passkeyFaults = ({
  id,
  name,
  publicKey,
}: Pick<Passkey, "id" | "name" | "publicKey">): ReadonlyArray<Fault> => {
  const nameDetail =
    name.trim() === "" ? "must not be empty" : nameFault(name, limits.passkeyNameCharactersMax)
  const tooLarge =
    id.length > limits.passkeyIdCharactersMax || publicKey.length > limits.passkeyKeyCharactersMax
  return [
    ...(nameDetail === undefined
      ? []
      : [{ pointer: "/passkeyName", code: "invalid_format", detail: nameDetail }]),
    ...(tooLarge
      ? [
          {
            pointer: "/passkey",
            code: "invalid_length",
            detail: "has an id or a key that is too long",
          },
        ]
      : []),
  ]
}

export const accessFaults = (
  projectIds: { has(id: string): boolean },
  { owner, projects }: Access,
): ReadonlyArray<Fault> => {
  if (owner) return []
  if (projects.length === 0) {
    const detail = "must name at least one project, or make the account an owner"
    return [{ pointer: "/access", code: "invalid_value", detail }]
  }
  return projects.flatMap(({ projectId }, index) =>
    projectIds.has(projectId)
      ? []
      : [
          {
            pointer: `/access/${index}/projectId`,
            code: "invalid_value",
            detail: "names no project",
          },
        ],
  )
}
