/** The bytes of a user's contributions to a shared goal (`UserCodec.ts`). */
import type { GoalPart, GoalParts } from "../../domain/user/GoalPart.ts"
import { type Reader, writeByte, writeNumber } from "./StateBytes.ts"

const paidFlag = 1
const keptFlag = 2
const missedFlag = 4
const allFlags = paidFlag | keptFlag | missedFlag

const flagsOf = ({ claim, paid }: GoalPart): number => {
  const ofClaim = claim === undefined ? 0 : claim === "kept" ? keptFlag : missedFlag
  return ofClaim | (paid ? paidFlag : 0)
}

export const writeGoal = (parts: GoalParts): void => {
  writeNumber(parts.length)
  for (const part of parts) {
    const { amount, period, since, team } = part
    writeByte(flagsOf(part))
    writeNumber(period)
    writeNumber(team)
    writeNumber(amount)
    writeNumber(since)
  }
}

export const readGoal = (reader: Reader): GoalParts =>
  Array.from({ length: reader.count() }, (): GoalPart => {
    const flags = reader.flags(allFlags)
    const paid = (flags & paidFlag) > 0
    const period = reader.number()
    const team = reader.number()
    const amount = reader.number()
    const part = { period, team, amount, since: reader.number(), paid }
    if ((flags & keptFlag) > 0) return { ...part, claim: "kept" }
    return (flags & missedFlag) > 0 ? { ...part, claim: "missed" } : part
  })
