/** The bytes of the places in leagues in a user's state (`UserCodec.ts`). */
import { leagueOutcomes } from "../../domain/project/League.ts"
import type { LeagueResult, LeagueScore, LeagueState } from "../../domain/user/LeagueState.ts"
import { bad, type Reader, writeByte, writeNumber } from "./StateBytes.ts"

const entryFlag = 1
const disqualifiedFlag = 2

/** The division, the place, if there is one, what waits, and the results. */
export const writeLeague = (state: LeagueState): void => {
  const { disqualified, division, entry, results, waiting } = state
  writeByte((entry === null ? 0 : entryFlag) | (disqualified ? disqualifiedFlag : 0))
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
  const flags = reader.flags(entryFlag | disqualifiedFlag)
  const hasEntry = (flags & entryFlag) !== 0
  const division = reader.number()
  const entry = hasEntry ? { cohort: reader.number(), ...readScore(reader) } : null
  const waiting = Array.from({ length: reader.count() }, () => readScore(reader))
  const results = Array.from({ length: reader.count() }, () => readResult(reader))
  const state = { division, entry, waiting, results }
  return (flags & disqualifiedFlag) === 0 ? state : { ...state, disqualified: true }
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
