/** The bytes of a user's state in a quest. */
import type { QuestState } from "../../domain/user/User.ts"
import type { Names } from "./Names.ts"
import { bad, type Reader, writeByte, writeName, writeNumber } from "./StateBytes.ts"

const flags = {
  started: 1,
  completed: 2,
  expired: 4,
  joined: 8,
  claimOpen: 16,
  claimPaid: 32,
  also: 64,
  alsoPaid: 128,
} as const

const flagsOf = ({
  also,
  alsoPaid,
  claim,
  completedAt,
  expired,
  joined,
  startedAt,
}: QuestState): number =>
  (startedAt === null ? 0 : flags.started) |
  (completedAt === null ? 0 : flags.completed) |
  (expired ? flags.expired : 0) |
  (joined === true ? flags.joined : 0) |
  (claim === "open" ? flags.claimOpen : 0) |
  (claim === "paid" ? flags.claimPaid : 0) |
  (also === undefined ? 0 : flags.also) |
  (alsoPaid === undefined ? 0 : flags.alsoPaid)

export const writeQuest = (state: QuestState, names: Names): void => {
  const { also, alsoPaid, completedAt, period, startedAt, steps, times } = state
  writeByte(flagsOf(state))
  writeNumber(period)
  writeNumber(times)
  if (startedAt !== null) writeNumber(startedAt)
  if (completedAt !== null) writeNumber(completedAt)
  if (also !== undefined) writeNumber(also)
  if (alsoPaid !== undefined) writeNumber(alsoPaid)
  const counted = Object.keys(steps)
  writeNumber(counted.length)
  for (const step of counted) {
    writeName(step, names)
    writeNumber(steps[step]!)
  }
}

export const readQuest = (reader: Reader, names: Names): QuestState => {
  const read = reader.flags(Object.values(flags).reduce((sum, flag) => sum + flag, 0))
  const has = (flag: keyof typeof flags) => (read & flags[flag]) !== 0
  const period = reader.number()
  const times = reader.number()
  const startedAt = has("started") ? reader.number() : null
  const completedAt = has("completed") ? reader.number() : null
  if (has("claimOpen") && (has("claimPaid") || completedAt === null)) {
    throw bad("a claim is open twice, or of no completed quest")
  }
  const also = has("also") ? reader.number() : undefined
  const alsoPaid = has("alsoPaid") ? reader.number() : undefined
  const steps: Array<readonly [string, number]> = []
  for (let left = reader.count(); left > 0; left--)
    steps.push([reader.name(names), reader.number()])
  return {
    period,
    steps: Object.fromEntries(steps),
    startedAt,
    completedAt,
    expired: has("expired"),
    times,
    ...(has("joined") && { joined: true }),
    ...(has("claimOpen") && { claim: "open" }),
    ...(has("claimPaid") && { claim: "paid" }),
    ...(also !== undefined && { also }),
    ...(alsoPaid !== undefined && { alsoPaid }),
  }
}
