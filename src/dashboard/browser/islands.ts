/**
 * The script of every page. Without it pages work, except for copying, passkeys, Live, the stock of
 * items as it changes, the reading of charts by keys, pickers of times and Back to a form that was not
 * sent; buttons of drafts load the page again.
 */

import { draftWithoutReload, followKind, pickTime } from "./drafts.ts"

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
  const date = at.toLocaleDateString(undefined, { dateStyle: "medium" })
  const time = at.toLocaleTimeString(undefined, { timeStyle })
  // A narrow cell breaks it between date and time only.
  element.textContent = [date, time].map((text) => text.replaceAll(/\s/g, "\u00a0")).join(", ")
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

type Typed = Record<string, string | boolean>

/** The text of the last form that was typed into, and whose it is. */
interface Unsent {
  readonly path: string
  readonly account: string
  readonly typed: Typed
  /** The session ended meanwhile. */
  readonly signIn?: boolean
}

const unsentName = "laurel.unsent"
const account = document.querySelector(".side form span")?.textContent ?? ""

const unsent = (): Unsent | undefined => {
  const text = sessionStorage.getItem(unsentName)
  return text === null ? undefined : JSON.parse(text)
}

/** The text of this page's form, if a sign-in came between: it is shown to nobody else. */
const unsentHere = (): Typed | undefined => {
  const kept = unsent()
  if (!kept?.signIn || kept.path !== location.pathname || kept.account !== account) return undefined
  sessionStorage.removeItem(unsentName)
  return kept.typed
}

/**
 * Keeps typed text in the page's history entry: after Back, the browser asks the server for the
 * page, which does not have the text. A sign-in makes another entry; the tab's storage keeps the text
 * until then.
 */
const keepTyping = (): void => {
  const before: Typed = history.state?.typed ?? unsentHere() ?? {}
  for (const field of document.querySelectorAll<Field>(typing)) {
    const text = before[field.id]
    if (typeof text === "string") field.value = text
    else if (text !== undefined && isChoice(field)) field.checked = text
  }
  document.addEventListener("change", ({ target }) => {
    const field = target as Field
    if (!field.matches(typing)) return
    const text = isChoice(field) ? field.checked : field.value
    const typed: Typed = { ...history.state?.typed, [field.id]: text }
    history.replaceState({ ...history.state, typed }, "")
    if (account === "") return
    const kept: Unsent = { path: location.pathname, account, typed }
    sessionStorage.setItem(unsentName, JSON.stringify(kept))
  })
  const kept = unsent()
  if (kept !== undefined && location.pathname.endsWith("/sign-in")) {
    sessionStorage.setItem(unsentName, JSON.stringify({ ...kept, signIn: true }))
    return
  }
  // The server keeps a form that was sent; who signs out is done.
  document.addEventListener("submit", () => sessionStorage.removeItem(unsentName))
}

/** Prepares the content of a page, or what takes its place. */
const enhance = (root: ParentNode): void => {
  for (const element of root.querySelectorAll("time")) localTime(element)
  for (const button of root.querySelectorAll<HTMLButtonElement>("button[data-copy]")) {
    copyButton(button)
  }
  for (const button of root.querySelectorAll<HTMLButtonElement>("button[value=kind]")) {
    followKind(button)
  }
  for (const field of root.querySelectorAll<HTMLInputElement>("input[data-time]")) pickTime(field)
}

for (const field of document.querySelectorAll<HTMLInputElement>("input[data-token]")) {
  fillToken(field)
}
keepTyping()
showHere()
enhance(document)
draftWithoutReload(enhance)

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
