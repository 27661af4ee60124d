/**
 * Whether a commit of few records waits for more before its flush (`commit_delay` of PostgreSQL): a flush costs the
 * processor as much for one record as for ten, and at half load most of what an event costs is its share of a flush.
 *
 * A record alone does not wait: at a light load the processor has time, and callers get their answers sooner. The wait
 * pays only where records keep coming. It gains nothing where all callers wait for this very commit, or where they
 * are few. So each wait decides about the next: after one that brought records every such commit waits; after one
 * that brought none the next commits do not, up to `commitDelaySkipsMax`, twice as many each time.
 */
import { limits } from "../../Limits.ts"

export class CommitDelay {
  /** Commits without a wait after the next one, and those left of them. */
  #skips: number = limits.commitDelaySkipsMax
  #left: number = limits.commitDelaySkipsMax

  /** Whether the next commit, of few records, waits. */
  isDue(): boolean {
    if (this.#left === 0) return true
    this.#left--
    return false
  }

  /** A commit waited, and records came meanwhile or not. */
  waited(cameMore: boolean): void {
    this.#skips = cameMore ? 0 : Math.min(2 * this.#skips + 1, limits.commitDelaySkipsMax)
    this.#left = this.#skips
  }
}
