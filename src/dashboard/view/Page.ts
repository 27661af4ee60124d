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

/** A link of the side column, marked on its page, on all pages below, and on the page `also`. */
const link = (frame: Frame, address: string, label: string, also?: string): Html => {
  const { path, place, prefix } = frame
  const whole = address === prefix || (place !== undefined && address === placePath(prefix, place))
  const below = !whole && (path.startsWith(`${address}/`) || path === also)
  const mark = path === address ? html` aria-current="page"` : below && html` aria-current="true"`
  return html`<li><a href="${address}"${mark}>${label}</a></li>`
}

type PlaceLink = readonly [path: string, label: string, also?: string]

/**
 * Pages of an environment in the side column, in groups: paths relative to the environment's, and
 * labels, and a page that the link stands for, too. The first group needs no title.
 */
const placeGroups: ReadonlyArray<readonly [title: string, links: ReadonlyArray<PlaceLink>]> = [
  [
    "",
    [
      ["", "Overview"],
      ["/live", "Live"],
      ["/users", "Users"],
      ["/teams", "Teams"],
    ],
  ],
  [
    "Insight",
    [
      ["/retention", "Retention"],
      ["/mechanics", "Mechanics"],
      ["/actions", "Actions"],
      ["/experiments", "Experiments"],
      ["/reminders", "Reminders"],
      ["/recap", "Recap"],
    ],
  ],
  [
    "Rewards",
    [
      ["/rules", "Rules"],
      ["/quests", "Quests"],
      ["/badges", "Badges"],
      ["/streaks", "Streaks"],
      ["/boosts", "Boosts"],
      ["/goals", "Goals"],
      ["/items", "Items"],
      ["/currencies", "Currencies"],
    ],
  ],
  [
    "Competition",
    [
      ["/leaderboards", "Leaderboards", "/leaderboard"],
      ["/leagues", "Leagues"],
    ],
  ],
  [
    "Measures",
    [
      ["/segments", "Segments"],
      ["/metrics", "Metrics"],
    ],
  ],
  [
    "Environment",
    [
      ["/sources", "Sources"],
      ["/webhooks", "Webhooks"],
      ["/keys", "API keys"],
      ["/settings", "Settings"],
      ["/copy", "Copy definitions"],
      ["/clock", "Test clock"],
      ["/log", "Audit log"],
    ],
  ],
]

/** On a narrow screen the links are in a menu, which opens without a script; Escape closes it. */
const sideColumn = (frame: Frame): Html => {
  const { account, place, prefix } = frame
  return html`<nav class="side" aria-label="Dashboard">
<p class="brand"><a href="${prefix}">Laurel</a></p>
${place !== undefined && placeName(place)}
<button type="button" class="menu" popovertarget="menu">Menu</button>
<div class="menu" id="menu" popover>
${place !== undefined && placeLinks(frame, place)}
${navGroup("Server", [
  link(frame, prefix, "Projects"),
  ...(account?.access.owner === true
    ? [
        link(frame, `${prefix}/team`, "Team"),
        link(frame, `${prefix}/log`, "Audit log"),
        link(frame, `${prefix}/operations`, "Operations"),
      ]
    : []),
  link(frame, `${prefix}/account`, "Account"),
  html`<li><a href="/docs">API reference</a></li>`,
])}
<form method="post" action="${prefix}/sign-out"><button>Sign out <span>${account?.name}</span></button></form>
</div></nav>`
}

const navGroup = (title: string, links: ReadonlyArray<Html>): Html | undefined => {
  if (links.length === 0) return undefined
  if (title === "") return html`<ul>${links}</ul>`
  const id = `nav-${title.toLowerCase()}`
  return html`<p class="heading" id="${id}">${title}</p>
<ul aria-labelledby="${id}">${links}</ul>`
}

const placeName = ({ environment, project }: Place): Html =>
  html`<p class="place"><strong title="${project.name}">${project.name}</strong> ${badge(environment)}</p>`

/** Links to the same page of the other environment, and to the pages of this one. */
const placeLinks = (frame: Frame, place: Place): Html => {
  const { path, prefix } = frame
  const base = placePath(prefix, place)
  const below = path.slice(base.length)
  const same = frame.placePages.has(below) ? below : ""
  const environment = place.environment === "sandbox" ? "production" : "sandbox"
  const other = placePath(prefix, { ...place, environment })
  const isShown = ([page]: PlaceLink) =>
    frame.placePages.has(page) && (page !== "/clock" || place.environment === "sandbox")
  return html`<p class="switch"><a href="${other}${same}">Switch to ${environment}</a></p>
${frame.advancedTo !== undefined && html`<p class="switch">Test clock: ${time(frame.advancedTo)}</p>`}
${placeGroups.map(([title, links]) =>
  navGroup(
    title,
    links
      .filter(isShown)
      .map(([page, label, also]) => link(frame, `${base}${page}`, label, also && `${base}${also}`)),
  ),
)}`
}

/** The badge of an environment. Word and mark tell environments apart, not colour alone. */
export const badge = (environment: EnvironmentName): Html =>
  html`<span class="badge ${environment}">${environment}</span>`

/** The title of a page; of a list, with its one main action beside it. */
export type Title = string | { readonly text: string; readonly action: Content }

export const page = (frame: Frame, titled: Title, main: Content): Html => {
  const { account, assets, place } = frame
  const { action = undefined, text: title } = typeof titled === "string" ? { text: titled } : titled
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
${action ? html`<div class="head"><h1>${title}</h1><p>${action}</p></div>` : html`<h1>${title}</h1>`}
${main}
</main>
</body>
</html>
`
}

/** The reason why a form was refused. */
export const alert = (text: Content): Html => html`<p class="alert" role="alert">${text}</p>`
