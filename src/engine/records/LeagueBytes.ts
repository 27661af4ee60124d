/** The bytes of the places in leagues in a user's state (`UserCodec.ts`). */
import { leagueOutcomes } from "../../domain/project/League.ts"
import type { LeagueResult, LeagueScore, LeagueState } from "../../domain/user/LeagueState.ts"
import { bad, type Reader, writeByte, writeNumber } from "./StateBytes.ts"

const entryFlag = 1

/** The division, the place, if there is one, what waits, and the results. */
export const writeLeague = ({ division, entry, results, waiting }: LeagueState): void => {
  writeByte(entry === null ? 0 : entryFlag)
  writeNumber(division)
  if (entry !== null) {
    writeNumber(entry.cohort)
    writeScore(entry)
  }
  writeNumber(waiting.length)
  for (const one of waiting) writeScore(one)
  writeNumber(results.length)
  for (const result of results) writeResult(result)
}

const writeScore = ({ score, sequence, window }: LeagueScore): void => {
  writeNumber(window)
  writeNumber(score)
  writeNumber(sequence)
}

/** A rank of 0 is none. */
const writeResult = (result: LeagueResult): void => {
  writeByte(leagueOutcomes.indexOf(result.outcome))
  writeNumber(result.window)
  writeNumber(result.division)
  writeNumber(result.cohort)
  writeNumber(result.score)
  writeNumber(result.rank ?? 0)
  writeNumber(result.of)
}

export const readLeague = (reader: Reader): LeagueState => {
  const hasEntry = reader.flags(entryFlag) === entryFlag
  const division = reader.number()
  const entry = hasEntry ? { cohort: reader.number(), ...readScore(reader) } : null
  const waiting = Array.from({ length: reader.count() }, () => readScore(reader))
  const results = Array.from({ length: reader.count() }, () => readResult(reader))
  return { division, entry, waiting, results }
}

const readScore = (reader: Reader): LeagueScore => ({
  window: reader.number(),
  score: reader.number(),
  sequence: reader.number(),
})

const readResult = (reader: Reader): LeagueResult => {
  const outcome = leagueOutcomes[reader.byte()]
  if (outcome === undefined) throw bad("an outcome is unknown")
  const window = reader.number()
  const division = reader.number()
  const cohort = reader.number()
  const score = reader.number()
  const rank = reader.number()
  const of = reader.number()
  return { window, division, cohort, score, rank: rank === 0 ? null : rank, of, outcome }
}
