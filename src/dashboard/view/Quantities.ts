/** Numbers with their units, short enough to read at a glance, and times. */
import { type Html, html } from "./Html.ts"

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 })
const exact = new Intl.NumberFormat("en", { maximumFractionDigits: 4 })
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 })

/** 1,250. */
export const count = (value: number): string => whole.format(value)

/** 1,250; a dash for a number that is not known. */
export const countOrDash = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : count(value)

/** 1,250 or 42.25: exact up to four decimals. */
export const score = (value: number): string => exact.format(value)

const share = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 })

/** 36.2%. */
export const percent = (value: number): string => share.format(value)

/** "Quest", of "quest". */
export const capitalized = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}`

const dayAndMonth = new Intl.DateTimeFormat("en", {
  month: "short",
  day: "numeric",
  timeZone: "UTC",
})

/** Nov 1, of a date such as 2026-11-01. */
export const dayLabel = (date: string): string => dayAndMonth.format(Date.parse(date))

const wholeDate = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" })

/** Nov 1, 2026, of a date such as 2026-11-01. */
export const dateLabel = (date: string): string => wholeDate.format(Date.parse(date))

/** Oct 24 – Nov 22, 2026, of two dates. */
export const datesLabel = (from: string, to: string): string =>
  wholeDate.formatRange(Date.parse(from), Date.parse(to)).replaceAll(/[\u2009\u202f]/g, " ")

/** 12.3, 0.0417: three digits. */
export const rough = (value: number): string =>
  value >= 1_000 ? whole.format(value) : short.format(value)

/** 1.5 GiB. */
export const bytes = (value: number): string => {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
  const power = Math.min(value < 1 ? 0 : Math.floor(Math.log2(value) / 10), units.length - 1)
  return `${rough(value / 1_024 ** power)} ${units[power]}`
}

/** Boosts in words: `happy-hour × 2`. */
export const boostWords = (
  boosts: ReadonlyArray<{ readonly key: string; readonly factor: number }>,
): string => boosts.map(({ factor, key }) => `${key} × ${factor}`).join(", ")

/** A duration in the largest unit that gives at least 2, rounded down: `3 min`. */
export const duration = (ms: number): string => {
  const units = [
    ["days", 86_400_000],
    ["h", 3_600_000],
    ["min", 60_000],
    ["s", 1_000],
  ] as const
  for (const [unit, length] of units) {
    if (ms >= 2 * length) return `${Math.floor(ms / length)} ${unit}`
  }
  return `${Math.round(ms)} ms`
}

/**
 * A time from epoch milliseconds, in UTC; a script shows the reader's time zone. `null` is "never".
 */
export const time = (at: number | null): Html => {
  if (at === null) return html`never`
  const iso = new Date(at).toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace("T", " ")} UTC</time>`
}

/** `time` of an ISO time, as the contract writes it. */
export const isoTime = (iso: string | null): Html => time(iso === null ? null : Date.parse(iso))

/**
 * `isoTime` with seconds, for times that follow each other closely, such as attempts of a delivery.
 */
export const isoTimeWithSeconds = (iso: string | null): Html => {
  if (iso === null) return html`never`
  const text = new Date(iso).toISOString().slice(0, 19).replace("T", " ")
  return html`<time datetime="${iso}" data-seconds>${text} UTC</time>`
}
