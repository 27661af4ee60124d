/** A line on the terminal that shows how much is done; without a terminal, nothing. */
export class ProgressBar {
  readonly #label: string
  readonly #total: number
  readonly #terminal: NodeJS.WriteStream
  #shown = ""

  constructor(label: string, total: number, terminal: NodeJS.WriteStream = process.stderr) {
    this.#label = label
    this.#total = total
    this.#terminal = terminal
  }

  update(done: number): void {
    if (!this.#terminal.isTTY) return
    const share = this.#total === 0 ? 1 : Math.min(1, done / this.#total)
    const filled = Math.round(share * barColumns)
    const bar = "█".repeat(filled) + "░".repeat(barColumns - filled)
    const line = `${this.#label} ${bar} ${count(done)} of ${count(this.#total)}`
    if (line === this.#shown) return
    this.#shown = line
    this.#terminal.write(`\r${line}\u001b[K`)
  }

  /** Leaves an empty line for what comes next. */
  clear(): void {
    if (this.#shown !== "") this.#terminal.write("\r\u001b[K")
    this.#shown = ""
  }
}

const barColumns = 30
const count = (value: number): string => value.toLocaleString("en-US")
