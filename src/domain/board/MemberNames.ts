/**
 * The display names of members who have one: most have none and cost nothing, a name of twelve letters costs 60 to 76 bytes.
 * A map for each 4,096 member numbers, since one map of a million holds the event loop while it doubles.
 */
const pageBits = 12

export class MemberNames {
  readonly #pages: Array<Map<number, string> | undefined> = []

  get(member: number): string | null {
    return this.#pages[member >>> pageBits]?.get(member) ?? null
  }

  set(member: number, name: string | null): void {
    const number = member >>> pageBits
    let page = this.#pages[number]
    if (name === null) {
      page?.delete(member)
      return
    }
    if (page === undefined) {
      page = new Map()
      this.#pages[number] = page
    }
    page.set(member, name)
  }
}
