/** Whether the engine takes commands at the moment, and else why not. */
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { type IntakeCode, overloaded, shuttingDown, storageUnavailable } from "./refusals.ts"

export interface IntakeOptions {
  readonly commit: { readonly stalled: boolean; readonly accepting: boolean }
  /** `pendingOfAll`: durable records that await a snapshot, of all engines of the process. */
  readonly changed: { readonly pendingOfAll: number }
}

export class Intake {
  readonly #options: IntakeOptions
  #closed = false

  constructor(options: IntakeOptions) {
    this.#options = options
  }

  /** Takes no more: the engine shuts down. */
  close(): void {
    this.#closed = true
  }

  /** The refusal of all commands; `undefined`: commands are accepted. */
  refusal(): LaurelError<IntakeCode> | undefined {
    if (this.#closed) return shuttingDown
    const { changed, commit } = this.#options
    if (commit.stalled) return storageUnavailable
    const full = !commit.accepting || changed.pendingOfAll >= limits.snapshotPendingRecordsMax
    return full ? overloaded : undefined
  }
}
