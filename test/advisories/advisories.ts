/** Reads what `npm audit --json` printed about the lock file. */

interface Advisory {
  readonly title: string
  readonly severity: string
  readonly url: string
}

export interface Scan {
  /** `skipped`: the registry did not answer, so nothing is known. */
  readonly outcome: "clean" | "vulnerable" | "skipped"
  readonly lines: ReadonlyArray<string>
}

export const scanOf = (printed: string): Scan => {
  let report: Record<string, unknown> = {}
  try {
    report = JSON.parse(printed)
  } catch {}
  const { message = "npm printed no report", vulnerabilities } = report
  if (typeof vulnerabilities !== "object" || vulnerabilities === null) {
    return { outcome: "skipped", lines: [`The registry gave no advisories: ${message}`] }
  }
  const lines: Array<string> = []
  for (const [name, { via }] of Object.entries(
    vulnerabilities as Record<string, { readonly via: ReadonlyArray<string | Advisory> }>,
  )) {
    for (const cause of via) {
      // A name is a package whose own advisory is listed with that package.
      if (typeof cause === "string") continue
      lines.push(`${name}: ${cause.title} (${cause.severity}), ${cause.url}`)
    }
  }
  return { outcome: lines.length === 0 ? "clean" : "vulnerable", lines }
}
