import { Effect } from "effect"

/** Lets one fibre sleep until a time comes or something happens. A ring while nobody sleeps is kept for the next. */
export class Alarm {
  #rung = false
  #wake: (() => void) | undefined

  ring(): void {
    this.#rung = true
    this.#wake?.()
  }

  /** Ends after `ms`, or when it rings. */
  sleep(ms: number): Effect.Effect<void> {
    const ringing = Effect.callback<void>((resume) => {
      if (this.#rung) resume(Effect.void)
      else this.#wake = () => resume(Effect.void)
    })
    return Effect.andThen(
      Effect.race(Effect.sleep(ms), ringing),
      Effect.sync(() => {
        this.#rung = false
        this.#wake = undefined
      }),
    )
  }
}
