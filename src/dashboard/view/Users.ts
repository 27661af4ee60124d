/** Addresses of users and teams, whose ids may hold any text. */
import { type Html, html, isolated } from "./Html.ts"

/** The path of a user's page below `base`. */
export const userPath = (base: string, userId: string): string =>
  `${base}/users/${encodeURIComponent(userId)}`

/** The path of a team's page below `base`. */
export const teamPath = (base: string, teamId: string): string =>
  `${base}/teams/${encodeURIComponent(teamId)}`

/** A link to a user's page, with the id and, if the user has one, the name. */
export const userLink = (base: string, userId: string, displayName: string | null): Html =>
  html`<a href="${userPath(base, userId)}">${isolated(userId)}</a>${
    displayName !== null && html` <span class="quiet">${isolated(displayName)}</span>`
  }`
