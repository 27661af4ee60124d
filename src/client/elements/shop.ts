import type { ItemForUser, Purchase, UserItems } from "../generated/types.ts"
import type { Laurel } from "../Laurel.ts"
import type { LaurelError } from "../LaurelError.ts"
import { uniqueId } from "../uniqueId.ts"
import { commonWords, LaurelElement, make, moment, named, number, type Words } from "./base.ts"

type Amounts = Readonly<Record<string, number>>

/** The items of one read. */
const pageSize = 100

/**
 * `<laurel-shop>`: the items that are for the user, with prices, what is left, and why one
 * cannot be bought. With the attribute `buy` each item has a button.
 *
 * A click dispatches `laurel-buy`, with the item as `detail`. After `preventDefault()` the page buys,
 * for example through its own server, and calls `refresh()`. Otherwise the element buys with its
 * client, which needs a user token with the scope `purchases`, and dispatches `laurel-purchase` with
 * the purchase. The name of a currency is the word of its key.
 */
export class LaurelShop extends LaurelElement<UserItems | undefined> {
  words: Words = {
    ...commonWords,
    shop: "Shop",
    balance: "You have {amounts}",
    buy: "Buy for {amounts}",
    price: "For {amounts}",
    left: "{count} left",
    limit: "{bought} of {times} {period}",
    hour: "this hour",
    day: "today",
    week: "this week",
    month: "this month",
    ever: "in all",
    bought: "Bought: {name}",
    refused: "Nothing was bought: {reason}",
    insufficient_balance: "{amounts} missing",
    item_not_active: "Not on sale now",
    limit_reached: "Limit reached",
    again: "Again from {time}",
    sold_out: "Sold out",
  }
  // One node for all drawings: a screen reader tells its changes alone.
  readonly #status = make("p")
  /** The ids of purchases without an answer, by item: another click repeats the same purchase. */
  readonly #open = new Map<string, string>()

  constructor() {
    super()
    this.#status.role = "status"
  }

  protected read({ items }: Laurel, signal: AbortSignal): Promise<UserItems | undefined> {
    const page = (cursor?: string) =>
      items.ofUser(this.userId, { limit: pageSize, ...(cursor && { cursor }) }, { signal })
    const all = async () => {
      let shop = await page()
      while (shop.nextCursor !== null) {
        const next = await page(shop.nextCursor)
        shop = { ...next, items: [...shop.items, ...next.items] }
      }
      return shop
    }
    return this.orNothing(all())
  }

  protected override get options(): object {
    return { buy: this.hasAttribute("buy") }
  }

  protected draw(shop: UserItems | undefined): ReadonlyArray<Node> {
    if (shop === undefined || shop.items.length === 0) return this.empty("shop")
    const title = this.heading("shop")
    // Balances in which nothing is for sale are left out.
    const keys = new Set(shop.items.flatMap(({ price }) => Object.keys(price)))
    const amounts = Object.entries(shop.spendable).filter(([key]) => keys.has(key))
    const balance = this.#fill("balance", this.#amounts(Object.fromEntries(amounts)))
    const list = named(make("ul", ...shop.items.map((item) => this.#row(item))), "rows shop")
    list.ariaLabel = title
    return [make("p", make("strong", title)), make("p", make("bdi", balance)), list, this.#status]
  }

  #row(item: ItemForUser): HTMLElement {
    const { description, key, left, name, price, refusal } = item
    const head = make("p", make("strong", make("bdi", name)))
    head.id = `item-${key}`
    const reason = refusal === null ? undefined : this.#reason(item, refusal)
    const canBuy = this.hasAttribute("buy") && reason === undefined
    const facts = [
      // The button says it, too.
      ...(canBuy ? [] : [this.#fill("price", this.#amounts(price))]),
      ...(left === null ? [] : [this.words.left!.replace("{count}", number(left))]),
      ...this.#limit(item),
    ]
    const about = make("div", head)
    if (description !== null) about.append(make("p", make("bdi", description)))
    if (facts.length > 0) about.append(named(make("p", make("bdi", facts.join(" · "))), "quiet"))
    if (this.hasAttribute("buy")) return make("li", about, this.#button(item, head.id, reason))
    return reason === undefined
      ? make("li", about)
      : make("li", about, named(make("p", make("bdi", reason)), "quiet"))
  }

  #limit({ bought, limit }: ItemForUser): ReadonlyArray<string> {
    if (limit === null) return []
    const { per, times } = limit
    const text = this.words.limit!.replace("{bought}", number(bought))
    return [text.replace("{times}", number(times)).replace("{period}", this.words[per]!)]
  }

  #reason(
    { limitEndsAt }: Pick<ItemForUser, "limitEndsAt">,
    { code, detail, missing = {} }: NonNullable<ItemForUser["refusal"]>,
  ): string {
    if (code === "limit_reached" && limitEndsAt !== null) {
      return this.words.again!.replace("{time}", moment(limitEndsAt))
    }
    return this.words[code] === undefined ? detail : this.#fill(code, this.#amounts(missing))
  }

  /** A button that cannot be pressed keeps the focus, and its text says why. */
  #button(item: ItemForUser, nameId: string, reason: string | undefined): HTMLElement {
    const text = reason ?? this.#fill("buy", this.#amounts(item.price))
    // Isolated, since a text may begin with a number, which has no direction of its own.
    const button = make("button", make("bdi", text)) as HTMLButtonElement
    button.type = "button"
    button.dataset.focus = item.key
    button.setAttribute("aria-describedby", nameId)
    if (reason !== undefined) button.ariaDisabled = "true"
    button.onclick = () => {
      if (button.ariaDisabled !== "true") void this.#buy(item, button)
    }
    return button
  }

  async #buy(item: ItemForUser, button: HTMLButtonElement): Promise<void> {
    const options = { detail: item, bubbles: true, cancelable: true }
    if (!this.dispatchEvent(new CustomEvent<ItemForUser>("laurel-buy", options))) return
    button.ariaDisabled = "true"
    this.#status.textContent = ""
    const text = await this.#purchase(item)
    await this.refresh()
    // Where nothing changed, the button is still there.
    button.ariaDisabled = "false"
    this.#status.textContent = text
  }

  /** Buys, and returns what the status says. */
  async #purchase({ key, name, limitEndsAt }: ItemForUser): Promise<string> {
    const id = this.#open.get(key) ?? uniqueId()
    this.#open.set(key, id)
    try {
      const detail = await this.client!.purchases.create(this.userId, { item: key, id })
      this.#open.delete(key)
      this.dispatchEvent(new CustomEvent<Purchase>("laurel-purchase", { detail, bubbles: true }))
      return this.words.bought!.replace("{name}", name)
    } catch (error) {
      const { code, message, status } = error as LaurelError
      // Without a refusal nobody knows whether it was bought.
      if (status >= 400 && status < 500) this.#open.delete(key)
      this.report(error)
      const known = code !== "insufficient_balance" && this.words[code] !== undefined
      const refusal = { code: code as "sold_out", detail: message }
      const reason = known ? this.#reason({ limitEndsAt }, refusal) : message
      return this.words.refused!.replace("{reason}", reason)
    }
  }

  #fill(word: string, amounts: string): string {
    return this.words[word]!.replace("{amounts}", amounts)
  }

  #amounts(amounts: Amounts): string {
    return Object.entries(amounts)
      .map(([key, amount]) => `${number(amount)} ${this.words[key] ?? key}`)
      .join(" · ")
  }
}
