/** A user's badges, quests and streaks, the first 100 of each. */
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import { isolated } from "../../view/Foreign.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { table } from "../../view/Lists.ts"
import { count, isoTime } from "../../view/Quantities.ts"

type Progress = BodyOf<"users.progress">

const timeOrNone = (at: string | null): Content => (at === null ? "–" : isoTime(at))

/** A heading with a table of at most `pageMax` rows; `sorted` has the most telling rows first. */
const section = <Row>(
  title: string,
  none: string,
  heads: ReadonlyArray<string>,
  sorted: ReadonlyArray<Row>,
  cells: (row: Row) => ReadonlyArray<Content>,
): Html => html`<h2>${title}</h2>
${
  sorted.length === 0
    ? html`<p>${none}</p>`
    : table(title, heads, sorted.slice(0, limits.pageMax).map(cells))
}
${sorted.length > limits.pageMax && html`<p class="hint">The first ${limits.pageMax} of ${count(sorted.length)} are shown.</p>`}`

export const badgesSection = ({ badges }: Progress, base: string): Html =>
  section(
    "Badges",
    "The environment has no badges yet.",
    ["Badge", "Progress", "Earned"],
    badges.toSorted(
      (one, other) =>
        Number(one.earnedAt === null) - Number(other.earnedAt === null) ||
        other.current / other.target - one.current / one.target,
    ),
    ({ current, earnedAt, id, name, target }) => [
      html`<a href="${base}/badges/${id}">${isolated(name)}</a>`,
      `${count(current)} of ${count(target)}`,
      earnedAt === null ? "not yet" : isoTime(earnedAt),
    ],
  )

const questLabels = {
  in_progress: "in progress",
  completed: "completed",
  not_started: "not started",
  expired: "expired",
} as const
const questOrder = Object.keys(questLabels)

export const questsSection = ({ quests }: Progress, base: string): Html =>
  section(
    "Quests",
    "No quest is active, and the user began none.",
    ["Quest", "Status", "Steps", "Completed", "Period ends"],
    quests.toSorted(
      (one, other) => questOrder.indexOf(one.status) - questOrder.indexOf(other.status),
    ),
    ({ completedAt, periodEndsAt, questId, status, steps, title }) => [
      html`<a href="${base}/quests/${questId}">${isolated(title)}</a>`,
      questLabels[status],
      html`<ul class="plain">${steps.map(
        ({ current, key, target }) =>
          html`<li>${isolated(key)} ${count(current)} of ${count(target)}</li>`,
      )}</ul>`,
      timeOrNone(completedAt),
      timeOrNone(periodEndsAt),
    ],
  )

export const streaksSection = ({ streaks }: Progress): Html =>
  section(
    "Streaks",
    "The environment has no streaks yet.",
    ["Streak", "Days", "Best", "Last day", "Freezes"],
    streaks,
    ({ best, current, freezes, key, lastDay }) => [
      isolated(key),
      count(current),
      count(best),
      lastDay ?? "–",
      count(freezes),
    ],
  )
