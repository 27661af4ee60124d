/** Reads Prometheus' text format, strictly. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly type: string
  readonly help: string
  readonly samples: ReadonlyArray<Sample & { readonly name: string }>
}

const sampleLine = /^([a-z_]+)(?:\{([^}]*)\})? (\S+)$/
const label = /^([a-z_]+)="((?:[^"\\]|\\.)*)"$/

const parseSample = (line: string) => {
  const [, name, labels = "", value] = sampleLine.exec(line) ?? []
  if (name === undefined) throw new Error(`No sample: ${line}`)
  const pairs = labels === "" ? [] : labels.split(/,(?=[a-z_]+=")/)
  const parsed = pairs.map((pair): [string, string] => {
    const [, key, text] = label.exec(pair) ?? []
    if (key === undefined || text === undefined) throw new Error(`No label: ${pair} in ${line}`)
    return [key, text]
  })
  const number = value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value)
  if (Number.isNaN(number)) throw new Error(`No number: ${line}`)
  return { name, labels: Object.fromEntries(parsed), value: number }
}

/** The families of an exposition, by name; each must stand together under its own HELP and TYPE. */
export const familiesOf = (text: string): ReadonlyMap<string, Family> => {
  const families = new Map<string, Family>()
  if (!text.endsWith("\n")) throw new Error("The text must end with a line feed")
  for (const block of text.slice(0, -1).split(/\n(?=# HELP )/)) {
    const [help = "", type = "", ...lines] = block.split("\n")
    const [, name = "", words = ""] = /^# HELP (\S+) (.+)$/.exec(help) ?? []
    const [, typed = "", kind = ""] = /^# TYPE (\S+) (\w+)$/.exec(type) ?? []
    if (name === "" || typed !== name) throw new Error(`Not a family: ${block.slice(0, 200)}`)
    if (families.has(name)) throw new Error(`Twice: ${name}`)
    const samples = lines.map(parseSample)
    for (const sample of samples) {
      const suffix = sample.name.slice(name.length)
      const suffixes = kind === "histogram" ? ["_bucket", "_sum", "_count"] : [""]
      if (!sample.name.startsWith(name) || !suffixes.includes(suffix)) {
        throw new Error(`${sample.name} is not of ${name}`)
      }
    }
    families.set(name, { type: kind, help: words, samples })
  }
  return families
}

/** The samples with this name, in their order. */
export const samplesOf = (text: string, name: string): ReadonlyArray<Sample> =>
  [...familiesOf(text).values()].flatMap(({ samples }) =>
    samples
      .filter((sample) => sample.name === name)
      .map(({ labels, value }) => ({ labels, value })),
  )

/** The one sample with this name and these labels. */
export const sampleValue = (
  text: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number => {
  const found = samplesOf(text, name).filter(({ labels: all }) =>
    Object.entries(labels).every(([key, value]) => all[key] === value),
  )
  if (found.length !== 1) throw new Error(`${found.length} samples are ${name} as asked for`)
  return found[0]!.value
}
