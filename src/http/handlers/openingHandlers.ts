/** Opening balances of many users at once. */

import type { OpeningReply } from "../../domain/message/UserReply.ts"
import type { Opening } from "../../domain/record/Opening.ts"
import type { Engine } from "../../engine/Engine.ts"
import {
  BatchedOpening,
  type NewOpening,
  type OpeningBatchOutcome,
  type Openings,
} from "../api/Opening.ts"
import { type BatchInput, type DecodingTurns, strictInput } from "../body/EventDecoder.ts"
import { inputDecoder } from "../body/InputDecoder.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { type BatchKind, batchOperation } from "./batchOperation.ts"

type OpeningInput = typeof BatchedOpening.Type

export const openingOf = ({ badges, ...given }: typeof NewOpening.Type): Opening => ({
  kind: "opening",
  ...given,
  ...(badges && { badges: badges.map((one) => ({ ...one, earnedAt: Date.parse(one.earnedAt) })) }),
})

export const openingBody = ({ opened, userId }: OpeningReply) => ({ userId, ...opened })

const openingBatches: BatchKind<OpeningInput, OpeningReply> = {
  items: { noun: "opening", decode: inputDecoder<OpeningInput>(BatchedOpening, strictInput) },
  // A user has one opening, so a repeat needs no id.
  message: ({ userId, ...given }) => ({ userId, command: openingOf(given) }),
  members: (reply) =>
    JSON.stringify({ duplicate: reply.duplicate, ...openingBody(reply) }).slice(1),
  sequenceOf: ({ sequence }) => sequence,
}

export const openingHandlers = (
  engine: Engine["Service"],
  turns: DecodingTurns,
): Handlers<typeof Openings, { readonly openBatch: BatchInput<OpeningInput> }> => ({
  openBatch: batchOperation<OpeningInput, OpeningReply, typeof OpeningBatchOutcome.Type>(
    engine,
    turns,
    openingBatches,
  ),
})
