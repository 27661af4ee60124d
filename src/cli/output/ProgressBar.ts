/** A progress bar on the terminal; prints nothing without one. */
export class ProgressBar {
  readonly #label: string
  readonly #total: number
  readonly #terminal: NodeJS.WriteStream
  readonly #format: (value: number) => string
  #shown = ""

  constructor(
    label: string,
    total: number,
    { format = count, terminal = process.stderr }: ProgressBarOptions = {},
  ) {
    this.#label = label
    this.#total = total
    this.#terminal = terminal
    this.#format = format
  }

  update(done: number): void {
    if (!this.#terminal.isTTY) return
    const share = this.#total === 0 ? 1 : Math.min(1, done / this.#total)
    const filled = Math.round(share * barColumns)
    const bar = "█".repeat(filled) + "░".repeat(barColumns - filled)
    const line = `${this.#label} ${bar} ${this.#format(done)} of ${this.#format(this.#total)}`
    if (line === this.#shown) return
    this.#shown = line
    this.#terminal.write(`\r${line}\u001b[K`)
  }

  /** Clears the line. */
  clear(): void {
    if (this.#shown !== "") this.#terminal.write("\r\u001b[K")
    this.#shown = ""
  }
}

interface ProgressBarOptions {
  /** Formats amounts; by default as whole numbers. */
  readonly format?: (value: number) => string
  readonly terminal?: NodeJS.WriteStream
}

const barColumns = 30
const count = (value: number): string => value.toLocaleString("en-US")
