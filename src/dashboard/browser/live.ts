/**
 * Live messages of an environment: the page Live, and the first event of the page that waits for
 * it.
 */
import type { LaurelError } from "../../client/LaurelError.ts"
import { follow as followStream, type StreamState } from "../../client/stream.ts"

interface Message {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly data: { readonly [name: string]: unknown; readonly userId?: string }
}

const rowsMax = 200
/** Messages kept for a change of the filter. */
const keptMax = 1_000

const stateTexts: Record<StreamState["kind"], string> = {
  connecting: "Connecting.",
  open: "Connected.",
  waiting: "The connection is lost. Trying again; no message will be missing.",
}
const gapText = "Some messages are no longer available. Messages continue from now."

/** The text for the status of a refusal. A redirect to the sign-in has status 0. */
const refusalText = (status: number): string => {
  if (status === 0) return "You are signed out, or your role has changed. Reload the page."
  return status === 409
    ? "Too many live pages are open. Close some, then reload this one."
    : `The server refuses the stream (${status}). Reload the page.`
}

/** Follows the stream that the element names, and shows the connection in its status line. */
const follow = (element: HTMLElement, onMessage: (message: Message) => void): AbortController => {
  const status = element.querySelector<HTMLElement>("[role=status]")!
  const leaving = new AbortController()
  const { signal } = leaving
  const show = (state: string, text: string) => {
    if (status.textContent !== text) status.textContent = text
    element.dataset.state = state
  }
  let gap = false
  const onState = ({ kind }: StreamState) => {
    // The note of missed messages stays in view while the stream connects again.
    gap &&= kind !== "waiting"
    show(kind, gap ? gapText : stateTexts[kind])
  }
  // The session's cookie authenticates the request, so the page needs only this part of the client.
  const open = (headers: Record<string, string>, attempt: AbortSignal) =>
    fetch(element.dataset.stream!, {
      headers,
      signal: attempt,
      redirect: "manual",
      cache: "no-store",
    })
  const run = async (after?: string): Promise<void> => {
    try {
      const texts = followStream(open, { after, signal, onState })
      for await (const text of texts) onMessage(JSON.parse(text))
    } catch (error) {
      const refusal = error as LaurelError
      if (refusal.status !== 410) return show("refused", refusalText(refusal.status))
      gap = true
      show("gap", gapText)
      await run()
    }
  }
  run(element.dataset.after)
  return leaving
}

const make = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  text?: string,
  className?: string,
): HTMLElementTagNameMap[Name] => {
  const element = document.createElement(name)
  if (text !== undefined) element.textContent = text
  if (className !== undefined) element.className = className
  return element
}

const signed = (amount: unknown, unit: string): ReadonlyArray<string> =>
  typeof amount === "number" && amount !== 0 ? [`${amount > 0 ? "+" : ""}${amount} ${unit}`] : []

/** A summary of a message in a few words. */
const summaryOf = ({ data, type }: Message): string => {
  const of = (name: string, part: string): unknown =>
    (data[name] as Record<string, unknown> | undefined)?.[part]
  const parts: Array<string> = []
  if (typeof data.action === "string") parts.push(data.action)
  parts.push(...signed(of("xp", "earned"), "xp"), ...signed(of("points", "earned"), "points"))
  if (/^(xp|points)\./.test(type)) parts.push(...signed(data.amount, type.split(".")[0]!))
  if (typeof of("level", "after") === "number" && of("level", "after") !== of("level", "before")) {
    parts.push(`level ${of("level", "after")}`)
  }
  return parts.join(", ")
}

const timeOf = ({ timestamp }: Message): HTMLElement => {
  const time = make("time", new Date(timestamp).toLocaleTimeString())
  time.dateTime = timestamp
  time.title = timestamp
  return time
}

const row = (message: Message, users: string): HTMLLIElement => {
  const item = make("li")
  const details = make("details")
  const summary = make("summary")
  const { userId } = message.data
  summary.append(timeOf(message), " ", make("code", message.type), " ")
  if (userId !== undefined) summary.append(make("bdi", userId), " ")
  summary.append(make("span", summaryOf(message), "quiet"))
  details.append(summary)
  // Filled on demand: most rows are never opened.
  const fill = () => {
    const whole = make("pre", JSON.stringify(message, null, 2))
    whole.tabIndex = 0
    whole.setAttribute("role", "region")
    whole.setAttribute("aria-label", `Message ${message.id}`)
    const actions = make("p", undefined, "row")
    const copy = make("button", "Copy")
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(whole.textContent)
      copy.textContent = "Copied"
    })
    actions.append(copy)
    if (userId !== undefined) {
      const link = make("a", "Show the user")
      link.href = `${users}/${encodeURIComponent(userId)}`
      actions.append(link)
    }
    details.append(whole, actions)
  }
  details.addEventListener("toggle", fill, { once: true })
  item.append(details)
  return item
}

/** The page again, parsed but not shown. This way needs no exception from the policy of types. */
const pageNow = (): Promise<Document | null> =>
  new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.responseType = "document"
    request.onloadend = () => resolve(request.status === 200 ? request.responseXML : null)
    request.open("GET", location.href)
    request.send()
  })

const renewMs = 1_000

/**
 * The stock of items: a purchase or a refund renews the parts of the page with `data-renew`, once for
 * all that follow within a second. The rest stays, such as an open dialog and typed texts.
 */
export const showStock = (element: HTMLElement): void => {
  let waiting = false
  const renew = async () => {
    waiting = false
    const now = await pageNow()
    for (const part of document.querySelectorAll<HTMLElement>("[data-renew]")) {
      const fresh = now?.getElementById(part.id)
      if (fresh) part.replaceChildren(...fresh.childNodes)
    }
  }
  follow(element, ({ type }) => {
    if (waiting || !type.startsWith("item.")) return
    waiting = true
    setTimeout(renew, renewMs)
  })
}

/** The page Live: newest first, at most `rowsMax` rows, drawn once a frame. */
export const showLive = (element: HTMLElement): void => {
  const list = element.querySelector<HTMLElement>("ul")!
  const kind = element.querySelector<HTMLSelectElement>("select")!
  const user = element.querySelector<HTMLInputElement>("input")!
  const pause = element.querySelector<HTMLButtonElement>("button")!
  const count = element.querySelector<HTMLElement>("[data-count]")!
  const users = element.dataset.users!
  let kept: Array<Message> = []
  /** The number of messages at the end of `kept` that are not drawn yet. */
  let undrawn = 0
  let received = 0
  let paused = false
  let asked = false

  const isShown = ({ data, type }: Message): boolean =>
    (kind.value === "" || type === kind.value) && (user.value === "" || data.userId === user.value)

  const draw = () => {
    asked = false
    if (!paused) {
      const fresh = undrawn === 0 ? [] : kept.slice(-undrawn).filter(isShown).slice(-rowsMax)
      undrawn = 0
      list.prepend(...fresh.reverse().map((message) => row(message, users)))
      while (list.childElementCount > rowsMax) list.lastElementChild!.remove()
    }
    const waiting = paused && undrawn > 0 ? `, ${undrawn} since the pause` : ""
    count.textContent = `${received} messages${waiting}`
  }
  const askToDraw = () => {
    if (asked) return
    asked = true
    requestAnimationFrame(draw)
  }
  const redraw = () => {
    list.replaceChildren()
    undrawn = kept.length
    // Not in the next frame: until then the empty list would look like a filter without matches.
    draw()
  }
  kind.addEventListener("change", redraw)
  user.addEventListener("input", redraw)
  pause.addEventListener("click", () => {
    paused = !paused
    pause.textContent = paused ? "Resume" : "Pause"
    askToDraw()
  })
  follow(element, (message) => {
    kept.push(message)
    received++
    undrawn = Math.min(undrawn + 1, keptMax)
    if (kept.length >= 2 * keptMax) kept = kept.slice(-keptMax)
    askToDraw()
  })
}

/** The page that waits for the first event: shows the event when it arrives, with its earnings. */
export const showFirstEvent = (element: HTMLElement): void => {
  const place = element.querySelector<HTMLElement>("[data-first]")!
  const leaving = follow(element, (message) => {
    if (message.type !== "event.tracked") return
    leaving.abort()
    const line = make("p", undefined, "first")
    const earned = summaryOf(message).split(", ").slice(1).join(", ")
    line.append(
      timeOf(message),
      " ",
      make("bdi", String(message.data.userId)),
      `: ${message.data.action}, `,
      make("strong", earned === "" ? "earned nothing: no rule applies yet" : earned),
    )
    place.replaceChildren(line)
    element.querySelector<HTMLElement>("[role=status]")!.textContent =
      "The first event has arrived."
    element.querySelector<HTMLElement>("[data-next]")!.hidden = false
  })
}
