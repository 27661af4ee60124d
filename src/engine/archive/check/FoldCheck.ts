/**
 * Compares the users of a database with their records: folds the journal's segments, from the
 * beginning or from an archive that was checked (the base), and compares each fold with the stored
 * state when it reaches the sequence of that state. Recovery applies the records after it, so the
 * fold is then the user's state as of the last record.
 *
 * - Every total is the previous one plus or minus the change, and each record names the user's
 *   record before it.
 * - A stored state may be ahead of the watermark, and must not be behind a record up to the
 *   watermark.
 * - Records of an erased user may be gone, all or some of them: nothing is said about a life that
 *   ends with an erasure.
 * - Where the journal begins later than with record 1 and there is no base, the fold of a user who
 *   is older begins with the stored state.
 *
 * Memory: the states of `verificationUsersMax` users. More users are folded in several passes over
 * the segments. Cost: decodes each record once per pass; with a base, those since the base.
 */

import { Effect } from "effect"
import { applyUser } from "../../../domain/record/applyUser.ts"
import type { Fact, JournalRecord } from "../../../domain/record/Record.ts"
import { listedTeams } from "../../../domain/user/TeamShares.ts"
import { balanceOf, type UserState } from "../../../domain/user/User.ts"
import { BrokenInvariant } from "../../../domain/values/invariants.ts"
import { limits } from "../../../Limits.ts"
import type { DiskError } from "../../../storage/disk/Disk.ts"
import { keyParts } from "../../../storage/Keys.ts"
import type { StoredRecord } from "../../../storage/Storage.ts"
import { keyName } from "../../../storage/Values.ts"
import { yieldToEventLoop } from "../../../storage/yieldToEventLoop.ts"
import { memberKey } from "../../actor/TeamMembers.ts"
import { hashText } from "../../dedupe/IdIndex.ts"
import { Names } from "../../records/Names.ts"
import { encodeUser } from "../../records/UserCodec.ts"
import type { Base } from "./Base.ts"
import type { Fault } from "./JournalTail.ts"
import type { FoldedRecord, SavedState } from "./SavedState.ts"
import { Sequences } from "./Sequences.ts"

export interface FoldCheckOptions {
  readonly saved: SavedState
  readonly base: Base | undefined
  readonly fault: Fault
  /**
   * Called with each user's record that is folded, in order within a pass. `isLost`: an erased record after the
   * watermark has erased the user before, so the next start skips the record (`LostErasures`).
   */
  readonly onRecord: (record: UserRecord, isLost: boolean) => void
  /** Called with the state of the erased user, if another user has had the id since. */
  readonly onReplaced: (environment: string, state: UserState) => void
  /** Called with each erased record that is folded, once in each pass. */
  readonly onErased: (sequence: number) => void
  /** Called with each erased record after the watermark, once. */
  readonly onLateErased: (record: StoredRecord) => void
  /** Called with the state of each user as of the last record. */
  readonly onUser: (environment: string, state: UserState) => void
  readonly progress: (done: number, total: number) => void
}

export type UserRecord = JournalRecord & {
  readonly subject: {
    readonly actor: "user"
    readonly environment: string
    readonly userId: string
  }
}

/** A user whose records are being folded. */
interface Fold {
  readonly name: string
  state: UserState | undefined
  readonly stored: UserState | undefined
  /** The fold has had the stored state. */
  isCompared: boolean
  /** The last record up to the watermark. */
  lastMarked: number
  /** There was a state after that record. */
  wasThere: boolean
  /** Records are missing at the beginning. */
  isPartial: boolean
  /** What is wrong, unless an erasure follows. */
  faults: Array<string>
}

export class FoldCheck {
  readonly #options: FoldCheckOptions
  readonly #saved: SavedState
  readonly #base: Base | undefined
  /** The first record of the journal. */
  readonly #first: number
  readonly #folds = new Map<string, Fold>()
  /** The users with a record after the watermark. */
  readonly #late = new Set<string>()
  /** Users created minus users erased after the base. */
  #born = 0
  /**
   * Erased records after the base's snapshot. Some of them may be records of a user's erasure. The
   * base may have such a user although its journal has only tombstones of the user.
   */
  #erased = 0
  /**
   * Records before erased records after the watermark: a user whose state ends with one of them is
   * erased by the next start (`LostErasures`).
   */
  readonly #ended = new Sequences()
  /** Records before erased records up to the watermark: a user whose fold ends with one of them is erased. */
  readonly #gone = new Sequences()
  #users = 0

  constructor(options: FoldCheckOptions) {
    this.#options = options
    this.#saved = options.saved
    this.#base = options.base
    this.#first = options.saved.firstSequence
  }

  readonly run: Effect.Effect<void, DiskError> = Effect.gen({ self: this }, function* () {
    const from = (this.#base?.saved.watermark ?? 0) + 1
    const passes = Math.max(1, Math.ceil(this.#saved.userCount / limits.verificationUsersMax))
    const records = this.#saved.lastSequence - from + 1
    for (let pass = 0; pass < passes; pass++) {
      const isOwn = (name: string) => hashText(name) % passes === pass
      yield* this.#saved.eachRecord(from, {
        record: (folded) => {
          const { record } = folded
          if (record.subject.actor !== "user") return
          const name = nameOf(record.subject)
          if (isOwn(name)) this.#take(name, folded, record as UserRecord)
          this.#options.progress(pass * records + record.sequence - from, passes * records)
        },
        erased: (erased) => this.#takeErased(pass, erased),
      })
      yield* this.#compareAll(isOwn)
    }
    this.#compareIds()
    this.#countUsers()
  })

  /**
   * Compares the number of users with that of the base. The erasure of a user may be erased itself.
   */
  #countUsers(): void {
    if (this.#base === undefined) return
    const expected = (this.#base.manifest.counts.users ?? 0) + this.#born
    if (this.#users > expected || this.#users < expected - this.#erased) {
      this.#options.fault(`There should be ${expected} users, there are ${this.#users}`)
    }
  }

  #takeErased(pass: number, record: StoredRecord) {
    const { previous, sequence } = record
    this.#options.onErased(sequence)
    const isLate = sequence > this.#saved.watermark
    const ends = isLate ? this.#ended : this.#gone
    ends.add(previous)
    if (pass > 0) return
    this.#erased++
    if (isLate) this.#options.onLateErased(record)
  }

  #take(name: string, { previous }: FoldedRecord, record: UserRecord): void {
    const fold = this.#foldOf(name, record)
    const { sequence } = record
    const isLost = this.#isLost(fold, record)
    this.#options.onRecord(record, isLost)
    if (isLost) {
      this.#late.add(name)
      return
    }
    if (sequence > (fold.state?.sequence ?? 0)) {
      const before = fold.state
      this.#apply(fold, previous, record)
      const isLater = sequence > (this.#base?.manifest.sequence ?? 0)
      if (isLater) this.#born += Number(fold.state !== undefined) - Number(before !== undefined)
    }
    if (sequence <= this.#saved.watermark) {
      fold.lastMarked = sequence
      fold.wasThere = fold.state !== undefined || fold.isPartial
    } else this.#late.add(name)
    compareHere(fold)
  }

  /**
   * Whether the user was erased by an erased record after the watermark. Such a user is counted as it was then,
   * as the stored counts have it, unless another user has the id.
   */
  #isLost(fold: Fold, { facts, sequence, subject }: UserRecord): boolean {
    const { state } = fold
    if (sequence <= this.#saved.watermark || state === undefined) return false
    if (sequence <= state.sequence || !this.#ended.has(state.sequence)) return false
    if (!facts.some(({ kind }) => kind === "user.created")) return true
    this.#options.onReplaced(subject.environment, state)
    return false
  }

  #foldOf(name: string, { subject }: UserRecord): Fold {
    const known = this.#folds.get(name)
    if (known !== undefined) return known
    const { environment, userId } = subject
    const stored = this.#saved.storedUser(environment, userId)
    const isOlder = stored !== undefined && stored.sequence < this.#first
    const fold: Fold = {
      name: `User ${JSON.stringify(userId)} of ${environment}`,
      state:
        this.#base === undefined && isOlder
          ? stored
          : this.#base?.saved.storedUser(environment, userId),
      stored,
      isCompared: false,
      lastMarked: 0,
      wasThere: false,
      isPartial: false,
      faults: [],
    }
    this.#folds.set(name, fold)
    compareHere(fold)
    return fold
  }

  #apply(fold: Fold, previous: number, record: UserRecord): void {
    const { cause, facts, sequence } = record
    if (cause.kind === "erasure" || facts.some(({ kind }) => kind === "user.created")) {
      // The life before has ended, also where the erasure was erased.
      fold.state = undefined
      fold.faults = []
      fold.isPartial = false
    } else if (fold.state === undefined) {
      this.#applyPartially(fold, previous, record)
      return
    } else if (previous !== fold.state.sequence) {
      const expected = fold.state.sequence
      fold.faults.push(`record ${sequence} names ${previous} as the one before, not ${expected}`)
    }
    checkTotals(fold, record)
    fold.state = applied(fold, record)
  }

  /** Takes a record of a life whose first records are missing. */
  #applyPartially(fold: Fold, previous: number, { sequence }: UserRecord): void {
    const isPruned = this.#base === undefined && previous > 0 && previous < this.#first
    if (!isPruned && !fold.isPartial) fold.faults.push(`its records begin with ${sequence}`)
    fold.isPartial = true
    if (fold.stored?.sequence === sequence) fold.state = fold.stored
  }

  readonly #compareAll = Effect.fnUntraced(function* (
    this: FoldCheck,
    isOwn: (name: string) => boolean,
  ): Effect.fn.Return<void> {
    let done = 0
    for (const { environment, stored, userId } of this.#saved.users()) {
      const name = nameOf({ environment, userId })
      if (!isOwn(name)) continue
      const fold = this.#folds.get(name)
      this.#folds.delete(name)
      if (fold === undefined) this.#compareUntouched(environment, stored)
      else this.#end(environment, fold)
      if (++done % usersInATurn === 0) yield* yieldToEventLoop
    }
    for (const [name, fold] of this.#folds) this.#end(environmentOf(name), fold)
    this.#folds.clear()
  }).bind(this)

  /** A list of users needs the id of each. Ids after the watermark may not be stored yet. */
  #compareIds(): void {
    const { fault } = this.#options
    const ids = new Set<string>()
    for (const [key] of this.#saved.entries("userIds")) {
      const [environment, userId] = keyParts(key) as [string, string]
      const name = nameOf({ environment, userId })
      ids.add(name)
      if (this.#late.has(name) || this.#saved.stored.has(environment, userId)) continue
      fault(`${keyName(key)} of table userIds is no user`)
    }
    for (const user of this.#saved.stored.inOrder()) {
      const name = nameOf(user)
      if (ids.has(name) || this.#late.has(name)) continue
      fault(`${keyName(user.key)} of table userIds is missing`)
    }
  }

  /** A list of members needs a row of each. Rows of deleted teams and of late users may be more. */
  #compareMembers(environment: string, user: UserState): void {
    const { id } = user
    if (this.#late.has(nameOf({ environment, userId: id }))) return
    for (const number of listedTeams(user)) {
      const key = memberKey(environment, number, id)
      if (this.#saved.get("teamMembers", key) !== undefined) continue
      this.#options.fault(`${keyName(key)} of table teamMembers is missing`)
    }
  }

  /** A user without any record in the part of the journal that was folded. */
  #compareUntouched(environment: string, stored: UserState): void {
    const name = `User ${JSON.stringify(stored.id)} of ${environment}`
    if (this.#ended.has(stored.sequence)) {
      this.#count(environment, stored)
      return
    }
    const before = this.#base?.saved.storedUser(environment, stored.id)
    if (this.#base !== undefined && !isSame(before, stored)) {
      this.#options.fault(`${name} differs from its records: ${difference(before, stored)}`)
    } else if (this.#base === undefined && stored.sequence >= this.#first) {
      this.#options.fault(`${name} has no records`)
    }
    this.#count(environment, stored)
  }

  #end(environment: string, fold: Fold): void {
    const { faults, isCompared, isPartial, lastMarked, name, state, stored, wasThere } = fold
    if (stored === undefined && state !== undefined && this.#gone.has(state.sequence)) return
    if (stored !== undefined && stored.sequence < lastMarked) {
      faults.push(`its stored record is ${stored.sequence}, not ${lastMarked}`)
    } else if (stored !== undefined && !isCompared && (state !== undefined || isPartial)) {
      faults.push(`it has no record ${stored.sequence}`)
    } else if (stored === undefined && wasThere) faults.push("there is no state")
    for (const words of faults) this.#options.fault(`${name} differs from its records: ${words}`)
    if (state !== undefined) this.#count(environment, state)
  }

  #count(environment: string, state: UserState): void {
    this.#users++
    this.#compareMembers(environment, state)
    this.#options.onUser(environment, state)
  }
}

const usersInATurn = 200

export const nameOf = ({ environment, userId }: { environment: string; userId: string }): string =>
  `${environment}\n${userId}`
const environmentOf = (name: string): string => name.slice(0, name.indexOf("\n"))

/** Compares the fold with the stored state, where both are as of the same record. */
const compareHere = (fold: Fold): void => {
  const { state, stored } = fold
  if (fold.isCompared || state === undefined || state.sequence !== stored?.sequence) return
  fold.isCompared = true
  if (!isSame(state, stored)) fold.faults.push(difference(state, stored))
}

/** The state after the record. A record that breaks an invariant is a fault and changes nothing. */
const applied = ({ faults, state }: Fold, record: JournalRecord): UserState | undefined => {
  try {
    return applyUser(state, record)
  } catch (error) {
    if (!(error instanceof BrokenInvariant)) throw error
    faults.push(error.message)
    return state
  }
}

const checkTotals = ({ faults, state }: Fold, { facts, sequence }: JournalRecord): void => {
  const totals = new Map<string, number>()
  for (const { by, currency, total } of facts.flatMap(movementsOf)) {
    const due = (totals.get(currency) ?? balanceOf(state, currency).amount) + by
    if (due !== total) {
      faults.push(`by record ${sequence} the ${currency} should be ${due}, not ${total}`)
    }
    totals.set(currency, total)
  }
}

interface Movement {
  readonly currency: string
  readonly by: number
  readonly total: number
}

/** The changes of balances by a fact, and the balances afterwards. */
const movementsOf = (fact: Fact): ReadonlyArray<Movement> => {
  if (fact.kind === "user.merged") {
    const { gained, totals } = fact
    return Object.entries(totals).map(([currency, total]) => ({
      currency,
      by: gained[currency] ?? 0,
      total,
    }))
  }
  if (fact.kind === "user.opened") {
    return Object.entries(fact.balances).map(([currency, { amount }]) => ({
      currency,
      by: amount,
      total: amount,
    }))
  }
  const movement = movementOf(fact)
  return movement === undefined ? [] : [movement]
}

const movementOf = (fact: Fact): Movement | undefined => {
  switch (fact.kind) {
    case "xp.earned":
      return { currency: "xp", by: fact.amount, total: fact.total }
    case "xp.revoked":
      return { currency: "xp", by: -fact.amount, total: fact.total }
    case "points.earned":
    case "points.refunded":
      return { currency: "points", by: fact.amount, total: fact.total }
    case "points.revoked":
    case "points.spent":
      return { currency: "points", by: -fact.amount, total: fact.total }
    case "currency.earned":
    case "currency.refilled":
    case "currency.refunded":
      return { currency: fact.currency, by: fact.amount, total: fact.total }
    case "currency.revoked":
    case "currency.spent":
    case "currency.expired":
      return { currency: fact.currency, by: -fact.amount, total: fact.total }
    default:
      return undefined
  }
}

const isSame = (one: UserState | undefined, other: UserState | undefined): boolean =>
  one === other || one === undefined || other === undefined
    ? one === other
    : // When something is due again depends on the clock, and is no part of a state.
      Buffer.compare(Buffer.from(encodeUser(one, 0, names)), encodeUser(other, 0, names)) === 0

/** States that are only compared with each other share names. */
const names = new Names()

/** Names the difference, without values, which may be private. */
const difference = (folded: UserState | undefined, stored: UserState): string => {
  if (folded === undefined) return "there are none"
  if (stored.id !== folded.id) return "it says that it is another user"
  if (folded.xp !== stored.xp) return `xp is ${stored.xp}, not ${folded.xp}`
  if (folded.sequence !== stored.sequence) {
    return `its last record is ${stored.sequence}, not ${folded.sequence}`
  }
  return "other members differ"
}
