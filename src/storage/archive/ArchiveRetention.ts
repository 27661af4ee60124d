/**
 * Retention of archives. Kept are the newest archive of each of the newest `hourly` hours that have
 * archives, and of each of the newest `daily` days (hours and days of UTC); archives made on
 * demand, as long as the oldest daily one; and always the newest of all. Hours without archives do
 * not count, so a server that was down for a week keeps its archives.
 *
 * An archive that failed its check does not count, and stays until it is removed by name: it may be
 * the only copy.
 */
export interface RetentionCandidate {
  readonly id: string
  /** Epoch milliseconds. */
  readonly at: number
  readonly reason: "schedule" | "request"
  readonly good: boolean
}

export interface Retention {
  readonly hourly: number
  readonly daily: number
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/**
 * The age at which every archive has been pruned if one is made every `intervalMs`, milliseconds.
 */
export const archiveKeptMs = ({ daily, hourly }: Retention, intervalMs: number): number => {
  // That many periods with an archive, and the current one.
  const within = (periods: number, periodMs: number) =>
    periods * Math.max(periodMs, intervalMs) + periodMs
  return intervalMs + Math.max(within(hourly, hourMs), within(daily, dayMs))
}

/** The ids of the archives to prune, oldest first. */
export const expiredArchives = (
  archives: ReadonlyArray<RetentionCandidate>,
  { daily, hourly }: Retention,
): ReadonlyArray<string> => {
  const good = archives
    .filter((archive) => archive.good)
    .sort((one, other) => other.at - one.at || (one.id < other.id ? 1 : -1))
  const kept = new Set<string>(good.slice(0, 1).map(({ id }) => id))
  const keepNewestOf = (periodMs: number, periods: number): number => {
    const seen = new Set<number>()
    for (const { at, id } of good) {
      const period = Math.floor(at / periodMs)
      if (seen.has(period)) continue
      if (seen.size === periods) break
      seen.add(period)
      kept.add(id)
    }
    return seen.size === 0 ? Number.POSITIVE_INFINITY : Math.min(...seen)
  }
  keepNewestOf(hourMs, hourly)
  const oldestDay = keepNewestOf(dayMs, daily)
  for (const { at, id, reason } of good) {
    if (reason === "request" && Math.floor(at / dayMs) >= oldestDay) kept.add(id)
  }
  return good
    .filter(({ id }) => !kept.has(id))
    .map(({ id }) => id)
    .reverse()
}
