/**
 * One user: what a command decides (`decideUser`) and how its facts change the state (`applyUser`). Both
 * are pure, synchronous and total; time and ids come in with the command. `replyOf` rebuilds the answer to
 * the command from the record alone, so that a duplicate, even years later, is told the first outcome.
 */
import { Result } from "effect"
import { limits } from "../Limits.ts"
import { invalidRequest, type LaurelError, laurelError } from "./Errors.ts"
import { questCompleteAction } from "./Ids.ts"
import { levelAt } from "./Level.ts"
import type { ProjectState } from "./Project.ts"
import type { Cause, Fact, GrantedReward, JournalRecord, TrackedEvent, XpSource } from "./Record.ts"

/** Times are epoch milliseconds. */
export interface UserState {
  readonly id: string
  /** The sequence of the last record applied. */
  readonly sequence: number
  readonly xp: number
  /** The sequence of the record that set `xp`: who reached a score first stands first inside a tie. */
  readonly scoreSequence: number
  readonly points: number
  /** When each quest was completed. */
  readonly questsCompleted: ReadonlyMap<string, number>
  readonly createdAt: number
  readonly updatedAt: number
}

export type UserCommand = TrackedEvent | GrantedReward

export interface Decision {
  readonly cause: Cause
  readonly facts: ReadonlyArray<Fact>
}

/** The name that makes a repeat of this a duplicate, in a namespace of its kind; `undefined` for none. */
export const duplicateKey = (cause: Cause): string | undefined =>
  cause.kind === "request" || cause.id === undefined
    ? undefined
    : (cause.kind === "event" ? "e" : "r") + cause.id

/** Collects the facts of one decision and the balances they lead to. */
class Balance {
  readonly facts: Array<Fact> = []
  readonly #project: ProjectState
  readonly #xpBefore: number
  xp: number
  readonly points: number

  constructor(user: UserState | undefined, project: ProjectState) {
    this.#project = project
    this.#xpBefore = this.xp = user?.xp ?? 0
    this.points = user?.points ?? 0
    if (user === undefined) this.facts.push({ kind: "user.created" })
  }

  earnXp(amount: number, source: XpSource): void {
    if (amount === 0) return
    this.xp += amount
    this.facts.push({ kind: "xp.earned", amount, total: this.xp, source })
  }

  decide(
    cause: Cause,
    summary: "event.tracked" | "reward.granted",
  ): Result.Result<Decision, LaurelError> {
    // Sums of two safe integers are exact or visibly too large.
    if (this.xp > limits.balanceMax) {
      return Result.fail(
        laurelError(
          "balance_overflow",
          `xp may not exceed ${limits.balanceMax}; nothing was changed.`,
        ),
      )
    }
    const from = levelAt(this.#project.levelCurve, this.#xpBefore)
    const level = this.xp === this.#xpBefore ? from : levelAt(this.#project.levelCurve, this.xp)
    if (level !== from) this.facts.push({ kind: "level.changed", from, to: level })
    this.facts.push({ kind: summary, xp: this.xp, points: this.points, level })
    return Result.succeed({ cause, facts: this.facts })
  }
}

/**
 * What `command` does to `user` (`undefined`: never seen) under the definitions of `project`, or why it is
 * refused. Duplicates are not its business: the actor answers those from the first record.
 */
export const decideUser = (
  user: UserState | undefined,
  project: ProjectState,
  command: UserCommand,
  now: number,
): Result.Result<Decision, LaurelError> => {
  const balance = new Balance(user, project)
  switch (command.kind) {
    case "event": {
      const untimely = occurredAtFault(command.occurredAt, now)
      if (untimely !== undefined) return Result.fail(untimely)
      if (command.action === questCompleteAction) {
        const refusal = completeQuest(user, project, command.metadata?.questId, balance)
        if (refusal !== undefined) return Result.fail(refusal)
      } else {
        const rules = project.rulesByAction.get(command.action)
        if (rules !== undefined) {
          for (const rule of rules) balance.earnXp(rule.reward.xp, { ruleId: rule.id })
        }
      }
      return balance.decide(command, "event.tracked")
    }
    case "reward":
      balance.earnXp(command.amount, { rewardId: command.rewardId })
      return balance.decide(command, "reward.granted")
  }
}

const occurredAtFault = (occurredAt: number | undefined, now: number): LaurelError | undefined => {
  if (occurredAt === undefined) return undefined
  const detail =
    occurredAt > now + limits.occurredAtFutureMs
      ? "must be at most 5 minutes in the future"
      : occurredAt < now - limits.occurredAtPastMs
        ? "must be at most 30 days in the past"
        : undefined
  return detail === undefined
    ? undefined
    : invalidRequest([{ pointer: "/occurredAt", code: "out_of_range", detail }])
}

const completeQuest = (
  user: UserState | undefined,
  project: ProjectState,
  questId: unknown,
  balance: Balance,
): LaurelError | undefined => {
  if (typeof questId !== "string") {
    const detail = "must be a string, the id of the quest"
    return invalidRequest([{ pointer: "/metadata/questId", code: "invalid_type", detail }])
  }
  const quest = project.quests.get(questId)
  if (quest === undefined) {
    return laurelError("quest_not_found", "metadata.questId names no quest of this project.")
  }
  if (user?.questsCompleted.has(quest.id)) {
    balance.facts.push({ kind: "quest.repeated", questId: quest.id, title: quest.title })
    return undefined
  }
  if (quest.status !== "active") {
    return laurelError("quest_not_active", `The quest's status is ${quest.status}.`)
  }
  balance.facts.push({ kind: "quest.completed", questId: quest.id, title: quest.title })
  balance.earnXp(quest.reward.xp, { questId: quest.id })
  return undefined
}

/** The state after `record`; `undefined` as long as the user was never created (a refusal that was only kept). */
export const applyUser = (
  user: UserState | undefined,
  record: JournalRecord,
): UserState | undefined => {
  let { xp = 0, scoreSequence = 0, points = 0, questsCompleted = noQuests } = user ?? {}
  let createdAt = user?.createdAt
  for (const fact of record.facts) {
    switch (fact.kind) {
      case "user.created":
        createdAt = record.at
        break
      case "xp.earned":
        xp = fact.total
        scoreSequence = record.sequence
        break
      case "quest.completed":
        questsCompleted = new Map(questsCompleted).set(fact.questId, record.at)
        break
    }
  }
  if (createdAt === undefined || record.subject.actor !== "user") return undefined
  return {
    id: record.subject.userId,
    sequence: record.sequence,
    xp,
    scoreSequence,
    points,
    questsCompleted,
    createdAt,
    updatedAt: record.facts.length === 0 ? user!.updatedAt : record.at,
  }
}

const noQuests: ReadonlyMap<string, number> = new Map()

export interface Balances {
  readonly xp: { readonly earned: number; readonly total: number }
  readonly points: { readonly earned: number; readonly total: number }
  readonly level: { readonly before: number; readonly after: number }
}

/** What a command's record did, in the terms of the contract; times are epoch milliseconds. */
export type UserReply = Balances & { readonly duplicate: boolean; readonly userId: string } & (
    | {
        readonly kind: "event"
        readonly eventId: string
        readonly action: string
        readonly occurredAt: number
        readonly receivedAt: number
        readonly quests: ReadonlyArray<{
          readonly questId: string
          readonly title: string
          readonly alreadyCompleted: boolean
        }>
      }
    | {
        readonly kind: "reward"
        readonly rewardId: string
        readonly type: "xp"
        readonly amount: number
      }
  )

/** The answer to the command that made `record`, a user's event or reward. */
export const replyOf = (record: JournalRecord, duplicate: boolean): UserReply => {
  const { cause, subject } = record
  const summary = summaryOf(record)
  if (subject.actor !== "user" || summary === undefined || cause.kind === "request") {
    throw new Error(`Record ${record.sequence} answers no command of a user`)
  }
  let earned = 0
  let before = summary.level
  const quests = []
  for (const fact of record.facts) {
    if (fact.kind === "xp.earned") earned += fact.amount
    else if (fact.kind === "level.changed") before = fact.from
    else if (fact.kind === "quest.completed" || fact.kind === "quest.repeated") {
      const alreadyCompleted = fact.kind === "quest.repeated"
      quests.push({ questId: fact.questId, title: fact.title, alreadyCompleted })
    }
  }
  const common = {
    userId: subject.userId,
    duplicate,
    xp: { earned, total: summary.xp },
    points: { earned: 0, total: summary.points },
    level: { before, after: summary.level },
  }
  if (cause.kind === "reward") {
    const { rewardId, type, amount } = cause
    return { kind: "reward", ...common, rewardId, type, amount }
  }
  const { action, eventId, occurredAt = record.at } = cause
  return { kind: "event", ...common, eventId, action, occurredAt, receivedAt: record.at, quests }
}

const summaryOf = (record: JournalRecord) => {
  for (const fact of record.facts) {
    if (fact.kind === "event.tracked" || fact.kind === "reward.granted") return fact
  }
  return undefined
}
