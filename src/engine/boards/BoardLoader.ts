/**
 * Builds the boards of an environment at start, from the numbers at the heads of its users' values: the one
 * of all time, and those of all windows that are not stored yet, also when they are long over. Puts users on
 * the agenda on the way.
 */
import { type WindowKind, windowKinds } from "../../domain/Calendar.ts"
import { BoardBuilder } from "../../domain/Leaderboard.ts"
import { valueBodyAt } from "../../storage/Values.ts"
import type { Environment } from "../Environments.ts"
import { decodeUserHead, hasWindows, visitWindows } from "../UserCodec.ts"

export class BoardLoader {
  readonly #environment: Environment
  readonly #allTime: BoardBuilder
  readonly #windows: Readonly<Record<WindowKind, Map<number, BoardBuilder>>> = {
    daily: new Map(),
    weekly: new Map(),
    monthly: new Map(),
  }

  constructor(environment: Environment) {
    this.#environment = environment
    this.#allTime = new BoardBuilder(environment.boards.members)
  }

  /** Adds the user whose id stands in `key` from `start` to `end` (UTF-8) and whose stored value is `value`. */
  add(key: Uint8Array, start: number, end: number, value: Buffer): void {
    const { due, hidden, scoreSequence, sequence, xp } = decodeUserHead(value, valueBodyAt)
    const listed = xp > 0 && !hidden
    // Xp that were taken back since a window ended still stand on its board.
    const inWindows = !hidden && hasWindows(value, valueBodyAt)
    if (!listed && !inWindows && due === 0) return
    const { agenda, boards, project } = this.#environment
    const member = boards.members.admitBytes(key, start, end)
    if (listed) this.#allTime.addMember(member, xp, scoreSequence)
    if (inWindows) this.#addWindows(member, value)
    // What was due when the value was written may be another time by now.
    if (due !== 0) agenda.set(member, sequence < project.durable.dueSequence ? 1 : due)
  }

  #addWindows(member: number, value: Buffer): void {
    const { windows } = this.#environment.boards
    visitWindows(value, valueBodyAt, (kind, _, index, xp, sequence) => {
      if (xp <= 0 || index <= windows[kind].storedThrough) return
      let builder = this.#windows[kind].get(index)
      if (builder === undefined) {
        builder = new BoardBuilder(this.#environment.boards.members)
        this.#windows[kind].set(index, builder)
      }
      builder.addMember(member, xp, sequence)
    })
  }

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
