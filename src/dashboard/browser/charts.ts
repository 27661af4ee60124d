/**
 * Reads out single values of a chart: of the day under the pointer, and with the arrow keys, Home and
 * End, of the days in turn. The titles of the chart's parts have the texts.
 */

const keys = ["ArrowLeft", "ArrowRight", "Home", "End"]

export const readChart = (figure: HTMLElement): void => {
  const svg = figure.querySelector("svg")!
  const parts = [...svg.querySelectorAll("rect")]
  const texts = parts.map((part) => part.textContent ?? "")
  const reading = figure.querySelector(".reading")!
  const idle = reading.textContent
  let at = -1

  const show = (next: number): void => {
    parts[at]?.classList.remove("at")
    at = next
    parts[at]?.classList.add("at")
    reading.textContent = texts[at] ?? idle
  }

  // The titles of the parts would open boxes beside the text.
  for (const part of parts) part.replaceChildren()
  svg.setAttribute("tabindex", "0")
  svg.addEventListener("pointermove", ({ target }) => {
    const next = parts.indexOf(target as SVGRectElement)
    if (next >= 0 && next !== at) show(next)
  })
  svg.addEventListener("pointerleave", () => show(-1))
  svg.addEventListener("blur", () => show(-1))
  svg.addEventListener("keydown", (event) => {
    if (!keys.includes(event.key)) return
    event.preventDefault()
    const last = parts.length - 1
    if (event.key === "Home") show(0)
    else if (event.key === "End" || at < 0) show(last)
    else show(Math.min(last, Math.max(0, at + (event.key === "ArrowLeft" ? -1 : 1))))
  })
}
