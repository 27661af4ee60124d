/** Addresses of users, whose ids may hold any text. */
import { percentDecode } from "../../http/request/RequestParts.ts"
import { isolated } from "./Foreign.ts"
import { type Html, html } from "./Html.ts"

/**
 * The path of a user's page below `base`. Browsers take a segment `..` for a step up, also as `%2E%2E`: the ids `.` and `..`
 * get a `~` in front, and so do the ids that would be mistaken for those.
 */
export const userPath = (base: string, userId: string): string =>
  `${base}/users/${dotted.test(userId) ? `~${userId}` : encodeURIComponent(userId)}`

/** The user id of a segment made by `userPath`; `undefined` for one that is not percent-encoded UTF-8. */
export const userIdOf = (segment: string): string | undefined => {
  if (dotted.test(segment)) return segment.replace(/^~/, "")
  return percentDecode(segment)
}

const dotted = /^~*\.\.?$/

/** A link to a user's page, with the id; the name follows where the user has one. */
export const userLink = (base: string, userId: string, displayName: string | null): Html =>
  html`<a href="${userPath(base, userId)}">${isolated(userId)}</a>${
    displayName !== null && html` <span class="quiet">${isolated(displayName)}</span>`
  }`
