/** Addresses of users and teams, whose ids may hold any text. */
import { type Html, html, isolated } from "./Html.ts"

/** The path of a user's page below `base`. */
export const userPath = (base: string, userId: string): string =>
  `${base}/users/${encodeURIComponent(userId)}`

/** The path of a team's page below `base`. */
export const teamPath = (base: string, teamId: string): string =>
  `${base}/teams/${encodeURIComponent(teamId)}`

/** A link to a user's page: the name and then the id, or the id alone. */
export const userLink = (base: string, userId: string, displayName: string | null): Html =>
  html`<a href="${userPath(base, userId)}">${isolated(displayName ?? userId)}</a>${
    displayName !== null && html` <span class="quiet">${isolated(userId)}</span>`
  }`
