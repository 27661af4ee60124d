/**
 * The picture of a recap as SVG, of 1,200 by 630 units, which is the size of a shared link's preview.
 * It loads nothing and runs nothing, and takes every text as text.
 *
 * ```ts
 * const picture = recapPicture(await laurel.recaps.get("ada", { from: "2026-01-01" }))
 * ```
 */
import type { EnvironmentRecap, Recap } from "./generated/types.ts"

/** The recap of a user, or of all users of an environment. */
export type AnyRecap = EnvironmentRecap | Recap

/** The words of the picture. `{…}` stands for a value. */
export const recapWords = {
  days: "active days",
  xp: "XP earned",
  badges: "badges",
  quests: "quests completed",
  streak: "longest streak",
  best: "Best day: {date}, {xp} XP",
  level: "From level {from} to level {to}",
  top: "Among the top {percent} %",
  first: "New this time: {actions}",
  everyone: "Everyone",
  users: "active users",
  joined: "new users",
}

export type RecapWords = Readonly<Record<keyof typeof recapWords, string>>

export interface PictureOptions {
  /** Replaces some of the words, for translation. */
  readonly words?: Partial<RecapWords>
  /** The language of numbers and dates, such as `de`. Default: that of the browser or the server. */
  readonly language?: string
  /** The title. Default: the name of the user; for the recap of all users, the word `everyone`. */
  readonly name?: string
  /** Draws from right to left. Default: false. */
  readonly rightToLeft?: boolean
  /** The colours of the ground, the text and the accent. */
  readonly colours?: readonly [ground: string, text: string, accent: string]
}

const width = 1_200
const height = 630
const margin = 80
const columnGap = 20

/** The SVG of a recap. */
export const recapPicture = (
  recap: AnyRecap,
  {
    colours: [ground, text, accent] = ["#12351f", "#f4f7f5", "#8fe0b0"],
    language,
    name: given,
    rightToLeft = false,
    words: some,
  }: PictureOptions = {},
): string => {
  const words = { ...recapWords, ...some }
  const number = (value: number) => value.toLocaleString(language)
  const place = (x: number) => (rightToLeft ? width - x : x)
  const line = (
    x: number,
    y: number,
    size: number,
    colour: string,
    content: string,
    weight = 400,
  ) =>
    `<text x="${place(x)}" y="${y}" font-size="${size}" font-weight="${weight}" fill="${escaped(colour)}">${escaped(content)}</text>`
  const figures = figuresOf(recap, words)
  const columnWidth = (width - 2 * margin) / figures.length
  const longest = Math.max(...figures.map(([value]) => number(value).length))
  // A long number must not reach the next column: bold digits are up to 0.7 of the size wide.
  const size = Math.min(84, (columnWidth - columnGap) / 0.7 / longest)
  const columns = figures.map(([value, label], column) => {
    const x = margin + column * columnWidth
    return line(x, 330, size, accent, number(value), 700) + line(x, 376, 26, text, label)
  })
  const notes = notesOf(recap, words, number, language).map((note, row) =>
    line(margin, 460 + row * 46, 30, text, shortened(note, 30)),
  )
  const name = given ?? nameOf(recap, words)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(recapText(recap, { ...(language !== undefined && { language }), name, words }))}"`,
    ` font-family="system-ui,sans-serif" direction="${rightToLeft ? "rtl" : "ltr"}">`,
    `<rect width="${width}" height="${height}" fill="${escaped(ground)}"/>`,
    line(margin, 130, 60, text, shortened(name, 60), 700),
    line(margin, 184, 30, accent, rangeText(recap, language)),
    ...columns,
    ...notes,
    "</svg>",
  ].join("")
}

/** The recap in one line, for people who do not see the picture. */
export const recapText = (
  recap: AnyRecap,
  { language, name, words: some }: Pick<PictureOptions, "language" | "name" | "words"> = {},
): string => {
  const words = { ...recapWords, ...some }
  const number = (value: number) => value.toLocaleString(language)
  const figures = figuresOf(recap, words).map(([value, label]) => `${number(value)} ${label}`)
  return [
    `${name ?? nameOf(recap, words)}, ${rangeText(recap, language)}`,
    ...figures,
    ...notesOf(recap, words, number, language),
  ].join(". ")
}

const nameOf = (recap: AnyRecap, words: RecapWords): string =>
  "userId" in recap ? (recap.displayName ?? recap.userId) : words.everyone

const figuresOf = (recap: AnyRecap, words: RecapWords) => {
  const { badges, currencies, quests } = recap.totals
  const xp = [currencies.xp ?? 0, words.xp] as const
  const streak = [recap.streaks[0]?.best ?? 0, words.streak] as const
  const all: ReadonlyArray<readonly [value: number, label: string]> = [
    ...("userId" in recap
      ? [[recap.totals.activeDays, words.days] as const, xp, streak]
      : [...known(recap.activeUsers, words.users), xp, ...known(recap.newUsers, words.joined)]),
    [badges, words.badges],
    [quests, words.quests],
    ...("userId" in recap ? [] : [streak]),
  ]
  // A product may have no badges, quests or streaks.
  return all.filter(([value], index) => index < 2 || value > 0).slice(0, 4)
}

/** Empty if the value is not counted yet. */
const known = (value: number | null, label: string) =>
  value === null ? [] : [[value, label] as const]

const notesOf = (
  recap: AnyRecap,
  words: RecapWords,
  number: (value: number) => string,
  language: string | undefined,
): ReadonlyArray<string> => {
  const notes: Array<string> = []
  const { bestDay } = recap
  const { firsts = null, level, standing = null } = "userId" in recap ? recap : {}
  if (level !== undefined && level.to > level.from)
    notes.push(filled(words.level, { from: level.from, to: level.to }))
  if (bestDay !== null && bestDay.xp > 0) {
    const date = dateText(bestDay.date, language)
    notes.push(filled(words.best, { date, xp: number(bestDay.xp) }))
  }
  if (standing !== null && standing.topPercent <= 50) {
    notes.push(filled(words.top, { percent: standing.topPercent }))
  }
  if (notes.length < 3 && firsts !== null && firsts.length > 0) {
    const actions = firsts.slice(0, 3).map(({ action }) => action)
    notes.push(filled(words.first, { actions: actions.join(", ") }))
  }
  return notes
}

const filled = (text: string, values: Readonly<Record<string, number | string>>): string =>
  text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]))

const dateText = (date: string, language: string | undefined): string =>
  new Date(date).toLocaleDateString(language, { dateStyle: "medium", timeZone: "UTC" })

/** A whole year is shown as its number. */
const rangeText = ({ from, to }: AnyRecap, language: string | undefined): string => {
  const [year] = from.split("-")
  return from === `${year}-01-01` && to === `${year}-12-31`
    ? year!
    : `${dateText(from, language)} – ${dateText(to, language)}`
}

/** The approximate width of a character, in font sizes. */
const widthOf = (character: string): number => {
  if (/\p{M}/u.test(character)) return 0
  if (/[MW\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{ExtPict}]/u.test(character)) return 1
  return /[\p{Lu}\d_]/u.test(character) ? 0.7 : 0.57
}

/** As much of the text as fits into a line of letters of this size. */
const shortened = (text: string, size: number): string => {
  let left = (width - 2 * margin) / size
  let kept = ""
  for (const character of text) {
    left -= widthOf(character)
    if (left < 0) return `${kept}…`
    kept += character
  }
  return text
}

/** XML has no form for control characters, and half of a pair is no character. */
const escaped = (text: string): string =>
  text
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML forbids them
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Cs}/gu, "\ufffd")
