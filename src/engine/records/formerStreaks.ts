/**
 * Streaks as earlier versions wrote them: the latest runs, each with the days in it that were forgiven or did not exist.
 */
import type { Fact, JournalRecord } from "../../domain/record/Record.ts"
import type { DayRange, StreakState } from "../../domain/user/Streak.ts"

interface FormerRun {
  readonly first: number
  readonly last: number
  readonly frozen: ReadonlyArray<number>
  readonly skipped: ReadonlyArray<number>
}

interface FormerStreak {
  readonly runs: ReadonlyArray<FormerRun>
  readonly best: number
  readonly freezes: number
  readonly broken: boolean
}

const isFormer = (streak: object): boolean => "runs" in streak

const presentStreak = (streak: StreakState | FormerStreak): StreakState => {
  if (!("runs" in streak)) return streak
  const { best, broken, freezes, runs } = streak
  const { first, frozen, last, skipped } = runs.at(-1)!
  const length = last - first + 1 - frozen.length - skipped.length
  return { days: runs.flatMap(rangesOf), first, length, freezes, best, bestForgotten: best, broken }
}

const rangesOf = ({ first, frozen, last, skipped }: FormerRun): ReadonlyArray<DayRange> => {
  const ranges: Array<DayRange> = []
  let from = first
  for (const gap of [...frozen, ...skipped, last + 1].sort((one, other) => one - other)) {
    if (gap > from) ranges.push([from, gap - 1])
    from = gap + 1
  }
  return ranges
}

/** A user's streaks in the present form; the same map where they are. */
export const presentStreaks = (
  streaks: ReadonlyMap<string, StreakState>,
): ReadonlyMap<string, StreakState> => {
  for (const streak of streaks.values()) {
    if (isFormer(streak))
      return new Map([...streaks].map(([key, each]) => [key, presentStreak(each)]))
  }
  return streaks
}

/** A record from the journal with its streaks in the present form; the same object where they are. */
export const presentRecord = (record: JournalRecord): JournalRecord =>
  record.facts.some((fact) => "streak" in fact && isFormer(fact.streak))
    ? { ...record, facts: record.facts.map(presentFact) }
    : record

const presentFact = (fact: Fact): Fact =>
  "streak" in fact ? { ...fact, streak: presentStreak(fact.streak) } : fact
