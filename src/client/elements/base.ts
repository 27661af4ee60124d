/** What all elements share: the client, words, styles, and the times of reads. */
import { type Laurel, makeLaurel, type Table } from "../Laurel.ts"
import { type Watch, watch } from "../watch.ts"

/**
 * The operations that elements call. Without the other ones, a page that uses only elements loads
 * less code.
 */
const table = {
  users: {
    get: "GET users/*",
    progress: "GET users/*/progress",
    streaks: "GET users/*/streaks",
    streakCalendar: "GET users/*/streaks/*/calendar query",
  },
  leagues: { ofUser: "GET users/*/leagues", oneOfUser: "GET users/*/leagues/*" },
  goals: { ofUser: "GET users/*/goals" },
  items: { ofUser: "GET users/*/items query" },
  purchases: { create: "POST users/*/purchases body key" },
  recaps: { environment: "GET recap query", get: "GET users/*/recap query" },
  leaderboard: { get: "GET leaderboard query" },
  leaderboards: {
    entries: "GET leaderboards/*/entries query",
    teams: "GET leaderboards/*/teams query",
    lookup: "POST leaderboards/*/lookup body",
  },
} satisfies Table

/** A server that renders pages has no `HTMLElement`. */
const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement)

const css = `:host{display:block;font:var(--laurel-font,inherit);color:var(--laurel-text,light-dark(#1c211e,#e8ebe9))}
.card{background:var(--laurel-ground,light-dark(#fff,#1c2024));border:1px solid var(--laurel-line,light-dark(#dcdcd6,#343a40));border-radius:var(--laurel-radius,8px);padding:12px 16px}
:host([hidden]){display:none}
table{width:100%;border-collapse:collapse}
caption{text-align:start;font-weight:600;padding-block:4px}
th,td{text-align:start;padding:4px 8px;font-variant-numeric:tabular-nums}
th{font-weight:500;color:var(--laurel-quiet,light-dark(#5b635e,#9ba5a0))}
.board :is(td,th):is(:first-child,:last-child,.number){text-align:end}
.board th:first-child{inline-size:1%}
tr[aria-current]{background:var(--laurel-wash,light-dark(#eef5f0,#1d2a23));font-weight:600}
p{margin:4px 0}
ul{display:flex;flex-wrap:wrap;gap:4px;margin:8px 0 0;padding:0;list-style:none}
li{padding:2px 8px;border-radius:99px;background:var(--laurel-wash,light-dark(#eef5f0,#1d2a23))}
ul.rows{display:grid;gap:8px}
.rows li{padding:8px 12px;border-radius:var(--laurel-radius,8px)}
.quiet{color:var(--laurel-quiet,light-dark(#5b635e,#9ba5a0))}
.days td,.days th{text-align:center;padding:2px}
.days span{display:inline-grid;place-items:center;inline-size:2em;block-size:2em;border-radius:50%;border:2px solid transparent}
.kept span{background:var(--laurel-accent,light-dark(#1f6b40,#6fce97));color:var(--laurel-ground,light-dark(#fff,#1c2024))}
.frozen span,.paused span{border:2px dashed var(--laurel-accent,light-dark(#1f6b40,#6fce97))}
.open span{border-color:var(--laurel-line,light-dark(#dcdcd6,#343a40))}
.missed span{text-decoration:line-through}
svg{display:block;inline-size:100%;block-size:auto;border-radius:var(--laurel-radius,8px)}
button{font:inherit;color:inherit;background:none;border:1px solid var(--laurel-line,light-dark(#dcdcd6,#343a40));border-radius:var(--laurel-radius,8px);padding:6px 12px;margin-block-start:8px;min-block-size:32px;cursor:pointer}
.shop li{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:center;gap:8px}
.shop button{margin:0}
.shop button[aria-disabled=true]{color:var(--laurel-quiet,light-dark(#5b635e,#9ba5a0));cursor:default}
@media (prefers-reduced-motion:no-preference){.toasts p{animation:rise .2s ease-out}}
@keyframes rise{from{opacity:0;translate:0 8px}}
.toasts{position:fixed;inset-block-end:16px;inset-inline-end:16px;display:grid;gap:8px;z-index:1}
.toasts p{font:var(--laurel-font,inherit);color:var(--laurel-text,light-dark(#1c211e,#e8ebe9));background:var(--laurel-ground,light-dark(#fff,#1c2024));border:1px solid var(--laurel-accent,light-dark(#1f6b40,#6fce97));border-radius:var(--laurel-radius,8px);padding:12px 16px;margin:0}
:host(laurel-toast){display:contents}
progress{width:100%;accent-color:var(--laurel-accent,light-dark(#1f6b40,#6fce97))}`

let sheet: CSSStyleSheet | undefined

export const make = (name: string, ...children: ReadonlyArray<Node | string>): HTMLElement => {
  const element = document.createElement(name)
  element.append(...children)
  return element
}

export const named = (element: HTMLElement, className: string): HTMLElement => {
  element.className = className
  return element
}

/** The box around the contents of an element. Pages that reset padding and border of `*` reset those of the element. */
const card = (...children: ReadonlyArray<Node>): HTMLElement => {
  const element = named(make("div", ...children), "card")
  element.part.add("card")
  return element
}

export const number = (value: number): string => value.toLocaleString()

/** A time as the reader's language writes it, to the minute. */
export const moment = (iso: string): string =>
  new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })

/** The bar of a share from 0 to 1. */
export const bar = (label: string, ratio: number): HTMLElement => {
  const element = make("progress") as HTMLProgressElement
  element.value = ratio
  element.ariaLabel = label
  return element
}

export type Words = Readonly<Record<string, string>>

/** An element with a client: it starts when it is connected and whenever an attribute changes. */
export abstract class ClientElement extends Base {
  static readonly observedAttributes = [
    ...["url", "key", "user", "label", "refresh-seconds", "live", "window", "limit"],
    ...[
      "streak",
      "from",
      "to",
      "seconds",
      "board",
      "friends",
      "group",
      "teams",
      "team",
      "league",
      "goal",
      "buy",
      "everyone",
    ],
  ]
  /** The words that the element shows. Replace them to translate the element. */
  abstract words: Words
  #client: Laurel | undefined
  #end: (() => void) | undefined

  constructor() {
    super()
    sheet ??= new CSSStyleSheet()
    sheet.replaceSync(css)
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet]
  }

  /** Begins to show the data of a client. Returns what ends it. */
  protected abstract start(client: Laurel): () => void

  /**
   * The client that the element reads with. By default created from the attributes `url` and `key`.
   */
  get client(): Laurel | undefined {
    const [url, key] = [this.getAttribute("url"), this.getAttribute("key")]
    if (url !== null) this.#client ??= makeLaurel(table, { url, ...(key !== null && { key }) })
    return this.#client
  }

  set client(client: Laurel | undefined) {
    this.#client = client
    this.#restart()
  }

  connectedCallback(): void {
    this.#restart()
  }

  disconnectedCallback(): void {
    this.#end?.()
    this.#end = undefined
  }

  attributeChangedCallback(name: string): void {
    if (name === "url" || name === "key") this.#client = undefined
    this.#restart()
  }

  #restart(): void {
    this.disconnectedCallback()
    const { client } = this
    if (this.isConnected && client !== undefined) this.#end = this.start(client)
  }

  /** The attribute `user`. */
  protected get userId(): string {
    return this.getAttribute("user") ?? ""
  }

  /** Dispatches `laurel-error`. */
  protected report(error: unknown): void {
    this.dispatchEvent(new CustomEvent("laurel-error", { detail: error, bubbles: true }))
  }
}

/** An element that reads at the right times, and draws what it read. */
export abstract class LaurelElement<Data = unknown> extends ClientElement {
  #watch: Watch | undefined
  #drawn: string | undefined

  /** Reads the data that the element shows. Rejects with a `LaurelError`. */
  protected abstract read(laurel: Laurel, signal: AbortSignal): Promise<Data>
  /** The nodes that show `data`. */
  protected abstract draw(data: Data): ReadonlyArray<Node>
  /** What else the drawing depends on. */
  protected get options(): object {
    return {}
  }

  override attributeChangedCallback(name: string): void {
    // The present content may be about another user.
    this.#drawn = undefined
    super.attributeChangedCallback(name)
  }

  /**
   * Reads and draws now. Resolves when done; a failure dispatches `laurel-error` and does not
   * reject.
   */
  async refresh(): Promise<void> {
    await this.#watch?.refresh()
  }

  protected start(client: Laurel): () => void {
    this.#watch = watch<Data>(client, {
      read: (laurel, signal) => this.read(laurel, signal),
      refreshSeconds: Number(this.getAttribute("refresh-seconds") ?? 30),
      live: this.hasAttribute("live"),
      user: this.getAttribute("user"),
      onData: (data) => this.#show(data),
      onError: (error) => this.#failed(error),
    })
    return () => {
      this.#watch?.end()
      this.#watch = undefined
    }
  }

  #show(data: Data): void {
    const drawn = JSON.stringify([data, this.words, this.options])
    if (drawn === this.#drawn) return
    const root = this.shadowRoot!
    const focus = (root.activeElement as HTMLElement | null)?.dataset.focus
    root.replaceChildren(card(...this.draw(data)))
    this.#drawn = drawn
    if (focus) root.querySelector<HTMLElement>(`[data-focus="${focus}"]`)?.focus()
  }

  #failed(error: unknown): void {
    if (this.#drawn === undefined) {
      const status = make("p", this.words.failed!)
      status.role = "status"
      this.shadowRoot!.replaceChildren(card(status))
    }
    this.report(error)
  }

  /** The title: the attribute `label`, or the word. */
  protected heading(word: string): string {
    return this.getAttribute("label") ?? this.words[word]!
  }

  /** The title above a line that says that there is nothing. */
  protected empty(word: string): ReadonlyArray<Node> {
    return [make("p", make("strong", this.heading(word))), make("p", this.words.empty!)]
  }

  /** The result of a read; `undefined` before the first event of the user, which creates them. */
  protected async orNothing<A>(read: Promise<A>): Promise<A | undefined> {
    try {
      return await read
    } catch (error) {
      if ((error as { readonly code?: string }).code !== "user_not_found") throw error
    }
  }
}

/** The words that every element needs. */
export const commonWords = { empty: "Nothing yet", failed: "Cannot be shown now" }
