/** Charts as SVG, made on the server. Each says in words what it shows. */
import { type Html, html } from "./Html.ts"

const width = 600
const height = 80

/** Bars of equal width, the highest as high as the chart. `label` says what they show, for who cannot see them. */
export const bars = (label: string, values: ReadonlyArray<number>): Html => {
  const highest = Math.max(1, ...values)
  const step = width / Math.max(1, values.length)
  return html`<svg class="bars" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${label}">${values.map(
    (value, index) => {
      const high = (value / highest) * height
      return html`<rect x="${(index * step).toFixed(1)}" y="${(height - high).toFixed(1)}" width="${(step * 0.8).toFixed(1)}" height="${high.toFixed(1)}"/>`
    },
  )}</svg>`
}
