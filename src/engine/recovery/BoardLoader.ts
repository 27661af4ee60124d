/**
 * Builds the boards of an environment at start, from the numbers at the heads of its users' values: the one
 * of all time, and those of all windows that are not stored yet, also when they are long over. Puts users on
 * the agenda on the way. Nothing is allocated for a user but numbers in typed arrays, and the display name of one who has it.
 */

import { BoardBuilder } from "../../domain/board/Leaderboard.ts"
import { type WindowKind, windowKinds } from "../../domain/values/Calendar.ts"
import type { Environment } from "../actor/Environments.ts"
import { decodeUserHead, hasWindows, visitWindows } from "../records/UserCodec.ts"

export class BoardLoader {
  readonly #environment: Environment
  readonly #allTime: BoardBuilder
  readonly #windows: Readonly<Record<WindowKind, Map<number, BoardBuilder>>> = {
    daily: new Map(),
    weekly: new Map(),
    monthly: new Map(),
  }
  /** By slot of `visitWindows`, the builder of the last user: most users share it. */
  readonly #latest: Array<WindowBuilder | undefined> = []

  constructor(environment: Environment) {
    this.#environment = environment
    this.#allTime = new BoardBuilder(environment.boards.members)
  }

  /** Adds the user whose id (UTF-8) is `key` from `start` to `end`, and whose value has its body at `at` in `values`. */
  add(
    key: Uint8Array,
    start: number,
    end: number,
    values: DataView,
    at: number,
    displayName: string | null,
  ): void {
    const { due, hidden, scoreSequence, sequence, xp } = decodeUserHead(values, at)
    const listed = xp > 0 && !hidden
    // Xp that were taken back since a window ended still stand on its board.
    const inWindows = !hidden && hasWindows(values, at)
    if (!listed && !inWindows && due === 0 && displayName === null) return
    const { agenda, boards, project } = this.#environment
    const member = boards.members.admitBytes(key, start, end)
    if (displayName !== null) boards.names.set(member, displayName)
    if (listed) this.#allTime.addMember(member, xp, scoreSequence)
    if (inWindows) {
      visitWindows(values, at, (slot, index, xp, sequence) => {
        if (xp > 0) this.#builderOf(slot, index)?.addMember(member, xp, sequence)
      })
    }
    // The due time may have changed since the value was written.
    if (due !== 0) agenda.set(member, sequence < project.durable.dueSequence ? 1 : due)
  }

  /** Where those of a window are collected; `undefined` where its board is stored. */
  #builderOf(slot: number, index: number): BoardBuilder | undefined {
    const latest = this.#latest[slot]
    if (latest !== undefined && latest.index === index) return latest.builder
    const kind = windowKinds[slot >>> 1]!
    let builder = this.#windows[kind].get(index)
    if (builder === undefined && index > this.#environment.boards.windows[kind].storedThrough) {
      builder = new BoardBuilder(this.#environment.boards.members)
      this.#windows[kind].set(index, builder)
    }
    this.#latest[slot] = { index, builder }
    return builder
  }

  /** Throws `ListedTwice` where a user was added twice. */
  finish(): void {
    const { boards } = this.#environment
    boards.allTime = this.#allTime.build()
    for (const kind of windowKinds) {
      for (const [index, builder] of this.#windows[kind]) {
        boards.windows[kind].open.set(index, builder.build())
      }
    }
  }
}

interface WindowBuilder {
  readonly index: number
  readonly builder: BoardBuilder | undefined
}
