import type { StreakCalendar, StreakCalendarPeriod, UserStreak } from "../generated/types.ts"
import type { Laurel } from "../Laurel.ts"
import { commonWords, LaurelElement, make, named, number, type Words } from "./base.ts"

type Shown = readonly [streak: UserStreak, calendar: StreakCalendar]

const dayMs = 86_400_000

/**
 * `<laurel-streak>`: the streak with the key in the attribute `streak` (default: the first one), its
 * length, and its last five weeks as a calendar; of weeks or months the last twelve.
 */
export class LaurelStreak extends LaurelElement<Shown | undefined> {
  words: Words = {
    ...commonWords,
    streak: "Streak",
    current: "Now {count} · best {best}",
    kept: "kept",
    frozen: "saved by a freeze",
    paused: "paused",
    rest: "rest day",
    missed: "missed",
    skipped: "skipped",
    open: "still open",
  }

  protected async read({ users }: Laurel, signal: AbortSignal): Promise<Shown | undefined> {
    const { userId: user } = this
    const all = await this.orNothing(users.streaks(user, { signal }))
    const asked = this.getAttribute("streak")
    const streak = all?.streaks.find(({ key }) => asked === null || key === asked)
    if (streak === undefined) return undefined
    const to = streak.period.firstDay
    const days = { day: 34, week: 11 * 7, month: 334 }[streak.every]
    const from = new Date(Date.parse(to) - days * dayMs).toISOString().slice(0, 10)
    const calendar = await users.streakCalendar(user, streak.key, { from, to }, { signal })
    return [streak, calendar]
  }

  protected draw(shown: Shown | undefined): ReadonlyArray<Node> {
    if (shown === undefined) return this.empty("streak")
    const [{ best, current, every, name }, { periods }] = shown
    const { words } = this
    const length = words
      .current!.replace("{count}", number(current))
      .replace("{best}", number(best))
    const title = this.getAttribute("label") ?? name
    const table = make("table", make("caption", make("bdi", title)))
    if (every === "day") table.append(weekdays(), ...this.#weeks(periods))
    else table.append(make("tr", ...periods.map((period) => this.#cell(period, every))))
    return [named(table, "days"), make("p", length)]
  }

  /** A row for each week, from Monday. */
  #weeks(periods: ReadonlyArray<StreakCalendarPeriod>): ReadonlyArray<Node> {
    const cells = [
      ...Array.from({ length: weekdayOf(periods[0]!.firstDay) }, () => make("td")),
      ...periods.map((period) => this.#cell(period, "day")),
    ]
    return Array.from({ length: Math.ceil(cells.length / 7) }, (_, week) =>
      make("tr", ...cells.slice(week * 7, week * 7 + 7)),
    )
  }

  #cell({ firstDay, status }: StreakCalendarPeriod, every: UserStreak["every"]): HTMLElement {
    const month = every === "month" && { month: "short" as const }
    const day = every !== "month" && { day: "numeric" as const }
    const text = dateText(firstDay, { ...month, ...day })
    const hidden = make("span", text)
    hidden.title = `${dateText(firstDay, { dateStyle: "medium" })}: ${this.words[status] ?? status}`
    hidden.role = "img"
    hidden.ariaLabel = hidden.title
    return named(make("td", hidden), status)
  }
}

/** 0: Monday. */
const weekdayOf = (date: string): number => (new Date(date).getUTCDay() + 6) % 7

const dateText = (date: string, options: Intl.DateTimeFormatOptions): string =>
  new Date(date).toLocaleDateString(undefined, { ...options, timeZone: "UTC" })

const weekdays = (): HTMLElement =>
  make(
    "tr",
    ...["05", "06", "07", "08", "09", "10", "11"].map((day) => {
      const head = make("th", dateText(`2026-01-${day}`, { weekday: "narrow" }))
      head.ariaLabel = dateText(`2026-01-${day}`, { weekday: "long" })
      return head
    }),
  )
