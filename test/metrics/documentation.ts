/** The table of metrics as `src/metrics/README.md` must have it. */
import { catalogue, type MetricKind } from "../../src/metrics/Catalogue.ts"

export const documentedMetrics = (): ReadonlyArray<string> => {
  const all: { readonly [name: string]: MetricKind } = catalogue
  return Object.entries(all).map(([name, { help, labels, type }]) => {
    const shown = labels.map((label) => `\`${label}\``).join(", ")
    return `| \`${name}\` | ${type} | ${shown} | ${help} |`
  })
}

if (import.meta.main) console.log(documentedMetrics().join("\n"))
