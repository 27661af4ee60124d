/**
 * The elements `<laurel-leaderboard>` and `<laurel-profile>`. Importing this module defines them.
 *
 * An element reads its data from the server, through the property `client` or the attributes `url`
 * and `key`. It reads when it is connected, every `refresh` seconds while the page is visible
 * (default 30; 0: never), and with `live` when its stream opens and at each message about the user.
 * It redraws only when the data or the words have changed, and inserts data only as text. A failed
 * read dispatches the event `laurel-error`, with the error as `detail`.
 *
 * ```html
 * <laurel-profile url="https://laurel.example" key="lk_pub_live_…" user="ada"></laurel-profile>
 * <script type="module">import "laurel-client/elements"</script>
 * ```
 */
import type { LeaderboardPage, Progress } from "./generated/types.ts"
import { type Laurel, makeLaurel, type Table } from "./Laurel.ts"
import type { LaurelError } from "./LaurelError.ts"
import { type Watch, watch } from "./watch.ts"

/**
 * The operations that elements call. Without the other ones, a page that uses only elements loads
 * less code.
 */
const table = {
  users: { get: "GET users/*", progress: "GET users/*/progress" },
  leaderboard: { get: "GET leaderboard query" },
} satisfies Table

/** A server that renders pages has no `HTMLElement`. */
const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement)

const css = `:host{display:block;font:var(--laurel-font,inherit);color:var(--laurel-text,light-dark(#1c211e,#e8ebe9));background:var(--laurel-ground,light-dark(#fff,#1c2024));border:1px solid var(--laurel-line,light-dark(#dcdcd6,#343a40));border-radius:var(--laurel-radius,8px);padding:12px 16px}
:host([hidden]){display:none}
table{width:100%;border-collapse:collapse}
caption{text-align:start;font-weight:600;padding-block:4px}
th,td{text-align:start;padding:4px 8px;font-variant-numeric:tabular-nums}
th{font-weight:500;color:var(--laurel-quiet,light-dark(#5b635e,#9ba5a0))}
td:first-child,th:first-child,td:last-child,th:last-child{text-align:end}
tr[aria-current]{background:var(--laurel-wash,light-dark(#eef5f0,#1d2a23));font-weight:600}
p{margin:4px 0}
ul{display:flex;flex-wrap:wrap;gap:4px;margin:8px 0 0;padding:0;list-style:none}
li{padding:2px 8px;border-radius:99px;background:var(--laurel-wash,light-dark(#eef5f0,#1d2a23))}
progress{width:100%;accent-color:var(--laurel-accent,light-dark(#1f6b40,#6fce97))}`

let sheet: CSSStyleSheet | undefined

export const make = (name: string, ...children: ReadonlyArray<Node | string>): HTMLElement => {
  const element = document.createElement(name)
  element.append(...children)
  return element
}

export const number = (value: number): string => value.toLocaleString()

/** The base class of both elements: reads at the right times and reports failures. */
export abstract class LaurelElement<Data = unknown> extends Base {
  static readonly observedAttributes = [
    ...["url", "key", "user", "label", "refresh", "live"],
    ...["window", "limit"],
  ]
  /** The words that the element shows. Replace them to translate the element. */
  words: Readonly<Record<string, string>> = {
    rank: "Rank",
    name: "Name",
    xp: "XP",
    level: "Level",
    streak: "Streak",
    leaderboard: "Leaderboard",
    empty: "Nothing yet",
    failed: "Cannot be shown now",
  }
  #client: Laurel | undefined
  #watch: Watch | undefined
  #drawn: string | undefined

  constructor() {
    super()
    sheet ??= new CSSStyleSheet()
    sheet.replaceSync(css)
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet]
  }

  /** Reads the data that the element shows. Rejects with a `LaurelError`. */
  protected abstract read(laurel: Laurel, signal: AbortSignal): Promise<Data>
  /** The nodes that show `data`. */
  protected abstract draw(data: Data): ReadonlyArray<Node>

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
    this.#watch?.end()
    this.#watch = undefined
  }

  attributeChangedCallback(name: string): void {
    if (name === "url" || name === "key") this.#client = undefined
    // The present content may be about another user.
    this.#drawn = undefined
    this.#restart()
  }

  /**
   * Reads and draws now. Resolves when done; a failure dispatches `laurel-error` and does not
   * reject.
   */
  async refresh(): Promise<void> {
    await this.#watch?.refresh()
  }

  #restart(): void {
    this.disconnectedCallback()
    const { client } = this
    if (!this.isConnected || client === undefined) return
    this.#watch = watch<Data>(client, {
      read: (laurel, signal) => this.read(laurel, signal),
      refreshSeconds: Number(this.getAttribute("refresh") ?? 30),
      live: this.hasAttribute("live"),
      user: this.getAttribute("user"),
      onData: (data) => this.#show(data),
      onError: (error) => this.#failed(error),
    })
  }

  #show(data: Data): void {
    const drawn = JSON.stringify([data, this.words])
    if (drawn === this.#drawn) return
    this.shadowRoot!.replaceChildren(...this.draw(data))
    this.#drawn = drawn
  }

  #failed(error: unknown): void {
    if (this.#drawn === undefined) {
      const status = make("p", this.words.failed!)
      status.role = "status"
      this.shadowRoot!.replaceChildren(status)
    }
    this.dispatchEvent(new CustomEvent("laurel-error", { detail: error, bubbles: true }))
  }
}

/**
 * `<laurel-leaderboard>`: the board of the attribute `window` with `limit` rows. If `user` is set,
 * the row of this user is marked and in the middle.
 */
export class LaurelLeaderboard extends LaurelElement<LeaderboardPage> {
  protected read({ leaderboard }: Laurel, signal: AbortSignal): Promise<LeaderboardPage> {
    const query = { window: "window", around: "user", limit: "limit" }
    const given = Object.entries(query).map(([name, attribute]) => [
      name,
      this.getAttribute(attribute) ?? undefined,
    ])
    return leaderboard.get(Object.fromEntries(given), { signal })
  }

  protected draw({ entries }: LeaderboardPage): ReadonlyArray<Node> {
    const { words } = this
    const heads = [words.rank, words.name, words.level, words.xp].map((text) => {
      const head = make("th", text!) as HTMLTableCellElement
      head.scope = "col"
      return head
    })
    const rows = entries.map(({ displayName, level, rank, userId, xp }) => {
      const name = make("bdi", displayName ?? userId)
      const cells = [number(rank), name, number(level), number(xp)]
      const row = make("tr", ...cells.map((cell) => make("td", cell)))
      if (userId === this.getAttribute("user")) row.ariaCurrent = "true"
      return row
    })
    const title = this.getAttribute("label") ?? words.leaderboard!
    if (rows.length === 0) return [make("p", make("strong", title)), make("p", words.empty!)]
    const caption = make("caption", title)
    return [make("table", caption, make("thead", make("tr", ...heads)), make("tbody", ...rows))]
  }
}

type Profile = readonly [name: string, progress: Progress] | undefined

/**
 * `<laurel-profile>`: the level, progress, streaks and badges of the user in the attribute `user`.
 */
export class LaurelProfile extends LaurelElement<Profile> {
  protected async read({ users }: Laurel, signal: AbortSignal): Promise<Profile> {
    const id = this.getAttribute("user") ?? ""
    try {
      const [user, progress] = await Promise.all([
        users.get(id, { signal }),
        users.progress(id, { signal }),
      ])
      return [user.displayName ?? id, progress]
    } catch (error) {
      // The user's first event creates the user: until then there is nothing to show.
      if ((error as LaurelError).code !== "user_not_found") throw error
    }
  }

  protected draw(profile: Profile): ReadonlyArray<Node> {
    const { words } = this
    if (profile === undefined) return [make("p", words.empty!)]
    const [name, { badges, level, levelProgress, rank, streaks, xp }] = profile
    const bar = make("progress") as HTMLProgressElement
    bar.value = levelProgress.ratio
    bar.ariaLabel = `${words.level} ${number(level)}`
    const facts = [`${words.level} ${number(level)}`, `${number(xp)} ${words.xp}`]
    if (rank !== null) facts.push(`${words.rank} ${number(rank)}`)
    const items = [
      ...streaks
        .filter(({ current }) => current > 0)
        .map(({ current }) => `${words.streak} ${number(current)}`),
      ...badges.filter(({ earnedAt }) => earnedAt !== null).map((badge) => badge.name),
    ]
    const list = items.length === 0 ? [] : [make("ul", ...items.map((item) => make("li", item)))]
    const title = make("strong", make("bdi", this.getAttribute("label") ?? name))
    return [make("p", title), make("p", facts.join(" · ")), bar, ...list]
  }
}

const define = (name: string, element: CustomElementConstructor) => {
  // A page may load the module twice, and a server has no `customElements`.
  if (globalThis.customElements?.get(name) === undefined)
    globalThis.customElements?.define(name, element)
}

define("laurel-leaderboard", LaurelLeaderboard)
define("laurel-profile", LaurelProfile)
