/**
 * The frame of every page: head, skip link, side column with links that the account may follow,
 * main part.
 */
import type { Account } from "../../domain/accounts/Account.ts"
import type { EnvironmentName, Project } from "../../domain/project/Directory.ts"
import type { Assets } from "./Assets.ts"
import { type Content, type Html, html } from "./Html.ts"
import { time } from "./Quantities.ts"

/** A project's environment, as addresses name it: `/dashboard/shop/production`. */
export interface Place {
  readonly project: Project
  readonly environment: EnvironmentName
}

export interface Frame {
  readonly prefix: string
  readonly assets: Assets
  /** Absent if nobody is signed in. */
  readonly account?: Account | undefined
  readonly place?: Place | undefined
  /**
   * The paths of the environment's pages that the account may see, relative to the environment's
   * path.
   */
  readonly placePages: ReadonlySet<string>
  /** The time of the environment, if its test clock is ahead of the server's; epoch milliseconds. */
  readonly advancedTo?: number | undefined
  /** The path of the page. Its link is marked. */
  readonly path: string
}

export const placePath = (prefix: string, { environment, project }: Place): string =>
  `${prefix}/${project.name}/${environment}`

/** A link of the side column, marked on its page and on all pages below. */
const link = (frame: Frame, address: string, label: string): Html => {
  const { path, place, prefix } = frame
  const whole = address === prefix || (place !== undefined && address === placePath(prefix, place))
  const below = !whole && path.startsWith(`${address}/`)
  const mark = path === address ? html` aria-current="page"` : below && html` aria-current="true"`
  return html`<li><a href="${address}"${mark}>${label}</a></li>`
}

/** Pages of an environment in the side column: path relative to the environment's, and label. */
const placePages: ReadonlyArray<readonly [path: string, label: string]> = [
  ["", "Overview"],
  ["/live", "Live"],
  ["/retention", "Retention"],
  ["/reminders", "Reminders"],
  ["/recap", "Recap"],
  ["/mechanics", "Mechanics"],
  ["/actions", "Actions"],
  ["/users", "Users"],
  ["/teams", "Teams"],
  ["/leaderboard", "Leaderboard"],
  ["/leaderboards", "Leaderboards"],
  ["/leagues", "Leagues"],
  ["/rules", "Rules"],
  ["/quests", "Quests"],
  ["/badges", "Badges"],
  ["/boosts", "Boosts"],
  ["/goals", "Goals"],
  ["/items", "Items"],
  ["/currencies", "Currencies"],
  ["/segments", "Segments"],
  ["/experiments", "Experiments"],
  ["/metrics", "Metrics"],
  ["/streaks", "Streaks"],
  ["/webhooks", "Webhooks"],
  ["/keys", "API keys"],
  ["/settings", "Settings"],
  ["/clock", "Test clock"],
  ["/log", "Audit log"],
]

const sideColumn = (frame: Frame): Html => {
  const { account, place, prefix } = frame
  return html`<nav class="side" aria-label="Dashboard">
<p class="brand"><a href="${prefix}">Laurel</a></p>
${place !== undefined && placeLinks(frame, place)}
<p class="heading" id="server">Server</p>
<ul aria-labelledby="server">${link(frame, prefix, "Projects")}
${
  account?.access.owner === true && [
    link(frame, `${prefix}/team`, "Team"),
    link(frame, `${prefix}/log`, "Audit log"),
    link(frame, `${prefix}/operations`, "Operations"),
  ]
}
${link(frame, `${prefix}/account`, "Account")}
<li><a href="/docs">API reference</a></li></ul>
<form method="post" action="${prefix}/sign-out"><button class="quiet">Sign out ${account?.name}</button></form>
</nav>`
}

/** Links to the pages of the environment, and to the same page of the other environment. */
const placeLinks = (frame: Frame, place: Place): Html => {
  const { path, prefix } = frame
  const base = placePath(prefix, place)
  const below = path.slice(base.length)
  const same = frame.placePages.has(below) ? below : ""
  const environment = place.environment === "sandbox" ? "production" : "sandbox"
  const other = placePath(prefix, { ...place, environment })
  return html`<p class="place"><strong>${place.project.name}</strong> ${badge(place.environment)}</p>
<p class="place"><a href="${other}${same}">Switch to ${environment}</a></p>
${frame.advancedTo !== undefined && html`<p class="place">Test clock: ${time(frame.advancedTo)}</p>`}
<ul>${placePages
    .filter(([page]) => frame.placePages.has(page))
    .filter(([page]) => page !== "/clock" || place.environment === "sandbox")
    .map(([page, label]) => link(frame, `${base}${page}`, label))}</ul>`
}

/** The badge of an environment. Word and mark tell environments apart, not colour alone. */
export const badge = (environment: EnvironmentName): Html =>
  html`<span class="badge ${environment}">${environment}</span>`

export const page = (frame: Frame, title: string, main: Content): Html => {
  const { account, assets, place } = frame
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}${place !== undefined && ` · ${place.project.name} ${place.environment}`} · Laurel</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${assets.address("icon.svg")}">
<link rel="stylesheet" href="${assets.address("dashboard.css")}">
<script type="module" src="${assets.address("islands.js")}"></script>
</head>
<body${account === undefined ? html` class="alone"` : place !== undefined && html` class="${place.environment}"`}>
<a class="skip" href="#main">Skip to content</a>
${account !== undefined && sideColumn(frame)}
<main id="main" tabindex="-1">
<h1>${title}</h1>
${main}
</main>
</body>
</html>
`
}

/** The reason why a form was refused. */
export const alert = (text: Content): Html => html`<p class="alert" role="alert">${text}</p>`
