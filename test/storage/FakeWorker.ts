/** A thread of `Questions` that answers when the test says so. */
import { EventEmitter } from "node:events"
import type { Worker } from "node:worker_threads"

export class FakeWorker extends EventEmitter {
  readonly numbers: Array<number> = []
  isEnded = false

  /** Returns a function that starts a fake worker and adds it to `workers`. */
  static starting(workers: Array<FakeWorker>): () => Worker {
    return () => {
      const worker = new FakeWorker()
      workers.push(worker)
      return worker as unknown as Worker
    }
  }

  postMessage(order: readonly [number: number, question: unknown] | "close"): void {
    if (order !== "close") this.numbers.push(order[0])
    else {
      this.isEnded = true
      this.emit("exit", 0)
    }
  }

  answerAll(answer: unknown): void {
    for (const number of this.numbers.splice(0)) this.emit("message", [number, answer])
  }

  async terminate(): Promise<void> {
    this.isEnded = true
  }

  ref(): void {}
  unref(): void {}
}
