/** When users were counted, in words. */
import { type Html, html } from "./Html.ts"
import { isoTime } from "./Quantities.ts"

interface Counted {
  readonly countedAt: string | null
  readonly counting: boolean
}

/** "Users were counted 2026-11-01 09:30.", or that they are being counted for the first time. */
export const countedLine = ({ countedAt, counting }: Counted): Html =>
  countedAt === null
    ? html`Users are being counted: reload the page in a moment.`
    : html`Users were counted ${isoTime(countedAt)}${counting && ", and are being counted again"}.`
