/** The bytes of a user's contributions to a shared goal (`UserCodec.ts`). */
import type { GoalPart, GoalParts } from "../../domain/user/GoalPart.ts"
import { type Reader, writeByte, writeNumber } from "./StateBytes.ts"

const paidFlag = 1

export const writeGoal = (parts: GoalParts): void => {
  writeNumber(parts.length)
  for (const { amount, paid, period, since, team } of parts) {
    writeByte(paid ? paidFlag : 0)
    writeNumber(period)
    writeNumber(team)
    writeNumber(amount)
    writeNumber(since)
  }
}

export const readGoal = (reader: Reader): GoalParts =>
  Array.from({ length: reader.count() }, (): GoalPart => {
    const paid = reader.flags(paidFlag) === paidFlag
    const period = reader.number()
    const team = reader.number()
    const amount = reader.number()
    return { period, team, amount, since: reader.number(), paid }
  })
