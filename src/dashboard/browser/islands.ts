/**
 * The script of every page. Without it pages work, except for copying, passkeys, Live, the stock of
 * items as it changes, the reading of charts by keys and Back to a form that was not sent.
 */

/** Fills in the token of a link. It stands after the #, which browsers do not send. */
const fillToken = (field: HTMLInputElement): void => {
  const token = location.hash.slice(1)
  if (!/^[\w-]{20,}$/.test(token)) return
  field.value = token
  // A redirect would keep the token in the next page's address.
  history.replaceState(null, "", location.pathname + location.search)
  field.closest<HTMLElement>(".field")!.hidden = true
}

/** Shows a time in the reader's time zone. */
const localTime = (element: HTMLTimeElement): void => {
  const at = new Date(element.dateTime)
  element.title = element.dateTime
  const timeStyle = element.dataset.seconds === undefined ? "short" : "medium"
  element.textContent = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle })
}

/** Copies the text of the element that the button names. */
const copyButton = (button: HTMLButtonElement): void => {
  button.hidden = false
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy!)?.textContent ?? ""
    await navigator.clipboard.writeText(text)
    // The label would hide the new text from screen readers.
    button.removeAttribute("aria-label")
    button.textContent = "Copied"
  })
}

/**
 * The side column scrolls on its own, and the link of this page may be below its end. `scrollIntoView`
 * would move the start of Tab, too.
 */
const showHere = (): void => {
  const side = document.querySelector<HTMLElement>(".side")
  const link = side?.querySelector<HTMLElement>("[aria-current]")
  if (!side || !link || link.offsetTop + link.offsetHeight < side.clientHeight) return
  side.scrollTop = link.offsetTop - side.clientHeight / 2
}

const typing =
  "form[method=post] :is(input:not([type=hidden], [type=password], [data-token]), select, textarea)[id]"
type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement
const isChoice = (field: Field): field is HTMLInputElement => field.type === "checkbox"

/**
 * Keeps typed text in the page's history entry: after Back, the browser asks the server for the
 * page, which does not have the text.
 */
const keepTyping = (): void => {
  const typed: Record<string, string | boolean> = { ...history.state?.typed }
  for (const field of document.querySelectorAll<Field>(typing)) {
    const text = typed[field.id]
    if (typeof text === "string") field.value = text
    else if (text !== undefined && isChoice(field)) field.checked = text
  }
  document.addEventListener("change", ({ target }) => {
    const field = target as Field
    if (!field.matches(typing)) return
    typed[field.id] = isChoice(field) ? field.checked : field.value
    history.replaceState({ ...history.state, typed }, "")
  })
}

for (const field of document.querySelectorAll<HTMLInputElement>("input[data-token]")) {
  fillToken(field)
}
keepTyping()
showHere()
for (const element of document.querySelectorAll("time")) localTime(element)
for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-copy]")) {
  copyButton(button)
}

const charts = document.querySelectorAll<HTMLElement>("[data-chart]")
if (charts.length > 0) {
  const { readChart } = await import("./charts.ts")
  for (const chart of charts) readChart(chart)
}

const live = document.querySelector<HTMLElement>("[data-live]")
if (live !== null) {
  const { showFirstEvent, showLive, showStock } = await import("./live.ts")
  if (live.dataset.live === "first") showFirstEvent(live)
  else if (live.dataset.live === "stock") showStock(live)
  else showLive(live)
}

export {}
