/**
 * The groups of members by an attribute: a number for each name, and the group of each member. All boards
 * that group by the attribute share it.
 *
 * Invariants: a member is in one group at most; 0 is no group. A number stays that of its name while a member is
 * in the group or a board keeps closed windows in memory (`GroupWatcher.keeps`), whose rows it names.
 *
 * Cost: a number of four bytes for each member, and a name, a count and an entry of a map for each group.
 */
import { MemberTable } from "./Members.ts"

/** A board that groups by the attribute. */
export interface GroupWatcher {
  /** Whether closed windows in memory name groups by their numbers. */
  readonly keeps: boolean
  /** The member is about to leave the group `group`. */
  readonly leavesGroup: (member: number, group: number) => void
  /** The member is in its present group. */
  readonly joinsGroup: (member: number) => void
}

export class Grouping {
  readonly #numbers = new Map<string, number>()
  /** By number. */
  readonly #names: Array<string | undefined> = [undefined]
  /** How many members each group has, by number. */
  readonly #sizes: Array<number> = [0]
  readonly #groups = new MemberTable()
  /** The numbers that are not in use, and those of groups that nobody is in. */
  readonly #free: Array<number> = []
  readonly #empty = new Set<number>()
  readonly watchers = new Set<GroupWatcher>()

  /** The group of `member`; 0: none. */
  groupOf(member: number): number {
    return this.#groups.get(member)
  }

  nameOf(group: number): string | null {
    return this.#names[group] ?? null
  }

  find(name: string): number | undefined {
    return this.#numbers.get(name)
  }

  /** The number of the group; 0 for none. A new group has no member yet. */
  admit(name: string | null): number {
    if (name === null) return 0
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    this.#release()
    const group = this.#free.pop() ?? this.#names.length
    this.#numbers.set(name, group)
    this.#names[group] = name
    this.#sizes[group] = 0
    this.#empty.add(group)
    return group
  }

  /** Puts `member` into the group with this name; null: into none. */
  assign(member: number, name: string | null): void {
    const before = this.#groups.get(member)
    if (name === null ? before === 0 : this.#names[before] === name) return
    const group = this.admit(name)
    for (const watcher of this.watchers) watcher.leavesGroup(member, before)
    this.#groups.set(member, group)
    if (before !== 0 && --this.#sizes[before]! === 0) this.#empty.add(before)
    if (group !== 0 && this.#sizes[group]!++ === 0) this.#empty.delete(group)
    for (const watcher of this.watchers) watcher.joinsGroup(member)
  }

  /** Makes the numbers of groups without members free. */
  #release(): void {
    if (this.#empty.size === 0) return
    for (const { keeps } of this.watchers) if (keeps) return
    for (const group of this.#empty) {
      this.#numbers.delete(this.#names[group]!)
      this.#names[group] = undefined
      this.#free.push(group)
    }
    this.#empty.clear()
  }
}
