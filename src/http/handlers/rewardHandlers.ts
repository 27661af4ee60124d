/** The rewards that users are granted by request, many at once, and read back; and their spends. */
import { Effect } from "effect"
import type { SpendReply } from "../../domain/message/SpendReply.ts"
import { type RewardReply, replyOf } from "../../domain/message/UserReply.ts"
import { decidedAt } from "../../domain/record/Record.ts"
import type { UserState } from "../../domain/user/User.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { recordNameOf } from "../../domain/values/Ids.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine, StorageCode } from "../../engine/Engine.ts"
import {
  BatchedReward,
  type GrantedReward,
  type RewardBatchOutcome,
  type Rewards,
  type SpendDetails,
  type Spends,
} from "../api/Rewards.ts"
import {
  type BatchInput,
  type DecodingTurns,
  type ItemKind,
  strictInput,
} from "../body/EventDecoder.ts"
import { inputDecoder } from "../body/InputDecoder.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { type BatchKind, batchOperation } from "./batchOperation.ts"
import {
  type Listed,
  type RecordOf,
  readByEitherId,
  readListed,
  readRevocation,
} from "./readHistory.ts"
import {
  foundOr,
  type PageQuery,
  pageAsked,
  rewardBody,
  spendBody,
  userNotFound,
} from "./Shapes.ts"

type Shown<A> = Effect.Effect<A, LaurelError<StorageCode>>

type RewardInput = typeof BatchedReward.Type

const rewardItems: ItemKind<RewardInput> = {
  noun: "reward",
  decode: inputDecoder<RewardInput>(BatchedReward, strictInput),
}

const rewardBatches: BatchKind<RewardInput, RewardReply> = {
  items: rewardItems,
  message: ({ id, userId, ...reward }, derivedId) => ({
    userId,
    command: { kind: "reward", ...reward, id: id ?? derivedId },
  }),
  members: (reply) => JSON.stringify(rewardBody(reply)).slice(1),
  sequenceOf: ({ rewardId }) => recordNameOf("rwd", rewardId)!.sequence,
}

export const rewardHandlers = (
  engine: Engine["Service"],
  turns: DecodingTurns,
): Handlers<typeof Rewards, { readonly grantBatch: BatchInput<RewardInput> }> => {
  const show = showReward(engine)
  return {
    grantBatch: batchOperation<RewardInput, RewardReply, typeof RewardBatchOutcome.Type>(
      engine,
      turns,
      rewardBatches,
    ),
    list: {
      handle: ({ caller: { environment }, params: { id }, query }) =>
        Effect.map(readPage(engine, environment, id, query, rewards, show), ({ end, items }) => ({
          body: { rewards: items, ...end },
        })),
    },
    get: {
      handle: ({ caller: { environment }, params: { id, rewardId } }) =>
        Effect.gen(function* () {
          const found = yield* readByEitherId(engine, environment, id, "reward", rewardId)
          return { body: yield* show(yield* foundOr(found, rewardNotFound)) }
        }),
    },
  }
}

export const spendHandlers = (engine: Engine["Service"]): Handlers<typeof Spends> => {
  const show = showSpend(engine)
  return {
    list: {
      handle: ({ caller: { environment }, params: { id }, query }) =>
        Effect.map(readPage(engine, environment, id, query, spends, show), ({ end, items }) => ({
          body: { spends: items, ...end },
        })),
    },
    get: {
      handle: ({ caller: { environment }, params: { id, spendId } }) =>
        Effect.gen(function* () {
          const found = yield* readByEitherId(engine, environment, id, "spend", spendId)
          return { body: yield* show(yield* foundOr(found, spendNotFound)) }
        }),
    },
  }
}

const rewards = {
  list: "rewards",
  kind: "reward",
  lastsOf: ({ absorbed, lastReward }: UserState) => [
    lastReward,
    ...absorbed.flatMap((one) => one.lastReward ?? []),
  ],
} as const
const spends = {
  list: "spends",
  kind: "spend",
  lastsOf: ({ absorbed, lastSpend }: UserState) => [
    lastSpend,
    ...absorbed.flatMap((one) => one.lastSpend ?? []),
  ],
} as const

/** A page of the user's records of one kind, shown with `show`. */
export const readPage = Effect.fnUntraced(function* <Kind extends Listed, A>(
  engine: Engine["Service"],
  environment: string,
  userId: string,
  query: PageQuery,
  {
    kind,
    lastsOf,
    list,
  }: {
    readonly list: "rewards" | "spends" | "purchases"
    readonly kind: Kind
    readonly lastsOf: (user: UserState) => ReadonlyArray<number>
  },
  show: (record: RecordOf<Kind>) => Shown<A>,
) {
  const user = yield* foundOr(yield* engine.readUser(environment, userId), userNotFound)
  const { after, end, limit } = yield* pageAsked(list, environment, { id: userId }, query)
  const page = { first: after?.[0], lasts: lastsOf(user), limit }
  const { next, records } = yield* readListed(engine, environment, userId, kind, page)
  const items = yield* Effect.forEach(records, show)
  return { items, end: end(next === undefined ? undefined : [next]) }
})

const showReward =
  (engine: Engine["Service"]) =>
  (record: RecordOf<"reward">): Shown<typeof GrantedReward.Type> =>
    Effect.map(readRevocation(engine, record), (revocation) => {
      const { id = null, reason = null } = record.cause
      const { duplicate: _, ...outcome } = rewardBody(replyOf(record) as RewardReply)
      return { ...outcome, id, reason, grantedAt: isoTime(decidedAt(record)), ...revocation }
    })

const showSpend =
  (engine: Engine["Service"]) =>
  (record: RecordOf<"spend">): Shown<typeof SpendDetails.Type> =>
    Effect.map(readRevocation(engine, record), (revocation) => {
      const spend = spendBody(replyOf(record) as SpendReply)
      const { id = null } = record.cause
      const spentAt = isoTime(decidedAt(record))
      return { ...spend, id, spentAt, ...revocation }
    })

const rewardNotFound = laurelError(
  "reward_not_found",
  "The user has no reward with this id, or the journal no longer has it.",
)

const spendNotFound = laurelError(
  "spend_not_found",
  "The user has no spend with this id, or the journal no longer has it.",
)
