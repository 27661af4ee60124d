/**
 * The messages of webhooks and streams: pure functions of a durable record. A fact causes at most
 * one message, so the record and the index of the fact identify the message, and its id is always
 * the same. `MessageData.ts` declares the kinds.
 */
import { limits } from "../../Limits.ts"
import { xpBoard } from "../project/BoardDefinition.ts"
import { statusAt } from "../project/Definition.ts"
import {
  type Cause,
  decidedAt,
  type Fact,
  type FactOf,
  isSilent,
  type JournalRecord,
} from "../record/Record.ts"
import {
  type RecordName,
  recordDigits,
  recordId,
  recordNameOf,
  revocablePrefix,
} from "../values/Ids.ts"
import { isoTime, isoTimeOrNull } from "../values/isoTime.ts"
import { isShown } from "./FactMembers.ts"
import { furtherOf } from "./Further.ts"
import { newsMembers, refOf } from "./GoalMembers.ts"
import { membersOf, showPlace } from "./HistoryFact.ts"
import type { MessageData } from "./MessageData.ts"
import { kindOfFact, type MessageKind } from "./MessageKind.ts"
import { type EventReply, type RevocationReply, type RewardReply, replyOf } from "./UserReply.ts"

export interface Message<Kind extends MessageKind = MessageKind> {
  readonly id: string
  readonly type: Kind
  /** The environment's time of the decision, ISO 8601. */
  readonly timestamp: string
  readonly project: string
  readonly environment: string
  readonly data: MessageData[Kind]
}

/** The record and the fact of a message. */
export interface MessageName extends RecordName {
  /** The index of the fact in the record, from 0. */
  readonly index: number
}

/** The id of a message, such as `msg_0mi8k3f2a4c92_1`. */
export const messageId = (name: MessageName): string => factId("msg", name)

/** The message with this id; `undefined` for any other text. */
export const messageNameOf = (id: string): MessageName | undefined => factNameOf("msg", id)

/** The id of a message or a delivery of a fact. */
export const factId = (prefix: "msg" | "dlv", { index, ...record }: MessageName): string =>
  [prefix, recordDigits(record), index.toString(36)].join("_")

/** The fact of an id that `factId` returned; `undefined` for any other text. */
export const factNameOf = (prefix: "msg" | "dlv", id: string): MessageName | undefined => {
  const split = id.lastIndexOf("_")
  const record = recordNameOf(prefix, id.slice(0, split))
  if (record === undefined || !/^[0-9a-z]{1,4}$/.test(id.slice(split + 1))) return undefined
  const name = { ...record, index: Number.parseInt(id.slice(split + 1), 36) }
  return factId(prefix, name) === id ? name : undefined
}

/** The kind of the message of the fact at `index`; `undefined` if the fact has no message. */
export const messageKindAt = (record: JournalRecord, index: number): MessageKind | undefined => {
  const fact = record.facts[index]
  return fact === undefined || isSilent(record) ? undefined : kindOfFact(fact)
}

/** Whether the webhook with this id may get the message of `fact`. */
export const isFactFor = (fact: Fact, webhookId: string): boolean => {
  switch (fact.kind) {
    case "webhook.tested":
      return fact.webhookId === webhookId
    case "webhook.disabled":
      return fact.webhookId !== webhookId
    default:
      return true
  }
}

/** The message of the fact at `index`, which must have a kind (`messageKindAt`). */
export const messageAt = (record: JournalRecord, index: number): Message => {
  const { at, sequence, subject } = record
  const fact = record.facts[index]
  const type = messageKindAt(record, index)
  if (subject.actor === "directory" || fact === undefined || type === undefined) {
    throw new Error(`Record ${sequence} makes no message of its fact ${index}`)
  }
  const { environment, project } = environmentParts(subject.environment)
  return {
    id: messageId({ sequence, at, index }),
    type,
    timestamp: isoTime(decidedAt(record)),
    project,
    environment,
    data: dataOf(record, fact),
  } as Message
}

// Caches the last result: most messages have the same environment.
let latestId = ""
let latest: Pick<Message, "environment" | "project"> = { project: "", environment: "" }
const environmentParts = (id: string): typeof latest => {
  if (id !== latestId) {
    const split = id.lastIndexOf(":")
    // `join` returns a flat string, concatenation a rope (`recordDigits`).
    const project = [...id.slice(0, split)].join("")
    latest = { project, environment: id.slice(split + 1) }
    latestId = id
  }
  return latest
}

const dataOf = (record: JournalRecord, fact: Fact): MessageData[MessageKind] => {
  const { at, sequence, subject } = record
  if (subject.actor === "user") return userData(record, fact, subject.userId)
  switch (fact.kind) {
    case "quest.created":
    case "quest.updated":
      return { sequence, quest: showQuest(fact.quest, decidedAt(record)) }
    case "leaderboard.window_closed": {
      const { board, endsAt, startsAt, total, window } = fact
      const leaderboard = { id: board?.boardId ?? xpBoard.id, key: board?.key ?? xpBoard.key }
      const times = { startsAt: isoTime(startsAt), endsAt: isoTime(endsAt) }
      return { sequence, leaderboard, window, ...times, total }
    }
    case "team.deleted": {
      const { name, teamId, teamKind } = fact
      return { sequence, teamId, teamKind, name }
    }
    case "team.updated": {
      const { judged, team } = fact
      if (judged === undefined) throw new Error(`No message tells of ${fact.kind}`)
      const { boardId, disqualified, key } = judged
      const named = { teamId: team.id, teamKind: team.kind, name: team.name }
      return { sequence, ...named, leaderboard: { id: boardId, key }, disqualified }
    }
    case "league.window_closed": {
      const { cohorts, endsAt, key, leagueId, startsAt, total, window } = fact
      const times = { startsAt: isoTime(startsAt), endsAt: isoTime(endsAt) }
      return { sequence, league: { id: leagueId, key }, window, ...times, cohorts, total }
    }
    case "goal.progressed":
    case "goal.completed":
      return { sequence, ...newsMembers(fact), userId: null }
    case "goal.rewards_paid":
      return { sequence, ...refOf(fact), rewarded: fact.paid }
    case "leaderboard.prizes_paid":
      return { sequence, ...showPlace(fact.place), winners: fact.paid }
    case "webhook.disabled": {
      const { description, reason, webhookId } = fact
      return { sequence, webhookId, description, reason, disabledAt: isoTime(at) }
    }
    case "testClock.moved":
      return { sequence, advancedTo: isoTime(fact.target) }
    case "webhook.tested":
      return { sequence, webhookId: fact.webhookId }
    default:
      throw new Error(`No message tells of ${fact.kind}`)
  }
}

const userData = (record: JournalRecord, fact: Fact, userId: string): MessageData[MessageKind] => {
  const { sequence } = record
  if (fact.kind === "user.deleted") return { sequence, userId }
  if (fact.kind === "goal.progressed" || fact.kind === "goal.completed") {
    return { sequence, ...newsMembers(fact), userId }
  }
  const common = { sequence, userId, cause: showCause(record) }
  switch (fact.kind) {
    case "user.created":
      return common
    case "event.tracked": {
      const reply = replyOf(record) as EventReply
      const { action, eventId, level, occurredAt, points, receivedAt, xp } = reply
      const sent = (record.cause.kind === "event" && record.cause.metadata) || null
      // The metadata was parsed from JSON.
      const metadata = sent as MessageData["event.tracked"]["metadata"]
      const received = isoTime(receivedAt)
      const occurred = occurredAt === receivedAt ? received : isoTime(occurredAt)
      const times = { occurredAt: occurred, receivedAt: received }
      const outcome = { xp, points, level, ...furtherOf(reply) }
      return { ...common, eventId, action, ...times, metadata, ...outcome }
    }
    case "points.spent":
    case "currency.spent":
      return {
        ...common,
        spendId: common.cause.id,
        ...membersOf(record, fact),
        reason: (record.cause.kind === "spend" && record.cause.reason) || null,
      } as MessageData["currency.spent"]
    case "points.refunded":
    case "currency.refunded":
      return {
        ...common,
        spendId: common.cause.id,
        ...membersOf(record, fact),
      } as MessageData["currency.refunded"]
    case "item.purchased":
    case "item.refunded":
      return {
        ...common,
        purchaseId: common.cause.id,
        ...membersOf(record, fact),
      } as MessageData["item.purchased"]
    case "level.changed":
      return { ...common, from: fact.from, to: fact.to, levels: levelsGained(fact) }
    case "reward.granted": {
      const reply = replyOf(record) as RewardReply
      const { amount, badgeId, level, points, reward, rewardId, type, xp } = reply
      const reason = (record.cause.kind === "reward" && record.cause.reason) || null
      const outcome = { xp, points, level, ...furtherOf(reply) }
      return { ...common, rewardId, reward, type, amount, badgeId, reason, ...outcome }
    }
    case "reward.revoked": {
      const reply = replyOf(record) as RevocationReply
      const { expired, id, level, points, shortfall, xp } = reply
      const lost = expired !== undefined && { expired }
      return { ...common, rewardId: id, xp, points, level, ...furtherOf(reply), shortfall, ...lost }
    }
    default:
      if (!isShown(fact)) throw new Error(`No message tells of ${fact.kind}`)
      return { ...common, ...membersOf(record, fact) } as MessageData[MessageKind]
  }
}

const showQuest = (quest: FactOf<"quest.created">["quest"], at: number) => ({
  id: quest.id,
  key: quest.key,
  title: quest.title,
  status: statusAt(quest, at),
  reward: quest.reward,
  recurrence: quest.recurrence,
  startsAt: isoTimeOrNull(quest.startsAt),
  endsAt: isoTimeOrNull(quest.endsAt),
  createdAt: isoTime(quest.createdAt),
  updatedAt: isoTime(quest.updatedAt),
})

/** The cause of a record. `id` is the id of what was sent or revoked. */
const showCause = (record: JournalRecord) => {
  const cause: Cause = record.cause
  switch (cause.kind) {
    case "event":
      return { kind: "event", id: recordId("evt", record) } as const
    case "reward":
      return { kind: "reward", id: recordId("rwd", record) } as const
    case "spend":
      return { kind: "spend", id: recordId("spd", record) } as const
    case "purchase":
      return { kind: "purchase", id: recordId("pur", record) } as const
    case "revocation":
      return { kind: "revocation", id: recordId(revocablePrefix[cause.of], cause) } as const
    case "tick":
      return { kind: "clock", id: null } as const
    case "payment":
      return { kind: cause.goal === undefined ? "prize" : "goal", id: null } as const
    case "disqualifyInLeague":
      return { kind: "disqualify", id: null } as const
    case "absorb":
      return { kind: "merge", id: null } as const
    default:
      return { kind: cause.kind, id: null } as const
  }
}

/** The gained levels; if they are too many for a message, the highest ones. */
const levelsGained = ({ from, to }: FactOf<"level.changed">): ReadonlyArray<number> => {
  const count = Math.min(Math.max(0, to - from), limits.messageLevelsMax)
  return Array.from({ length: count }, (_, index) => to - count + 1 + index)
}
