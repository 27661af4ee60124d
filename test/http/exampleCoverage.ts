/**
 * Finds the parts of an OpenAPI document without an example. A member has an example if it has one
 * of its own, or if the example of an enclosing part shows it; a member with a single value needs
 * none. A body and a reply need an example as a whole, and an error one for each of its codes.
 */
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is JSON
type Json = any

/**
 * The names of all members, parameters, headers, bodies, replies and error codes without an
 * example.
 */
export const withoutExample = (document: Json): ReadonlyArray<string> => {
  const { headers = {}, schemas = {} } = document.components ?? {}
  const members = new Set<string>()
  const shown = new Set<string>()
  const missing = new Set<string>()
  const walked = new Set<string>()

  const named = (name: string, schema: Json): readonly [string, Json] => {
    const target = schema.$ref?.split("/").at(-1)
    return target === undefined ? [name, schema] : named(target, schemas[target])
  }
  const examplesOf = (schema: Json): ReadonlyArray<Json> => [
    ...(schema.examples ?? []),
    ...(schema.$ref === undefined ? [] : examplesOf(named("", schema)[1])),
  ]
  /** The alternatives of a schema except null, with a name for each. */
  const variantsOf = (name: string, schema: Json): ReadonlyArray<readonly [string, Json]> =>
    (schema.anyOf ?? schema.oneOf ?? []).map((each: Json, index: number) => [
      `${name}#${index}`,
      each,
    ])

  const fits = (given: Json, value: Json): boolean => {
    const [, schema] = named("", given)
    const variants = variantsOf("", schema)
    if (variants.length > 0) return variants.some(([, each]) => fits(each, value))
    if (schema.const !== undefined) return value === schema.const
    if (schema.enum !== undefined) return schema.enum.includes(value)
    if (schema.items !== undefined) {
      return Array.isArray(value) && value.every((item) => fits(schema.items, item))
    }
    if (schema.properties === undefined) {
      const type = Array.isArray(value) ? "array" : value === null ? "null" : typeof value
      const types = schema.type === undefined ? [type] : [schema.type].flat()
      return types.map((each) => (each === "integer" ? "number" : each)).includes(type)
    }
    return (
      typeof value === "object" &&
      value !== null &&
      (schema.required ?? []).every((key: string) => key in value) &&
      Object.entries(value).every(
        ([key, child]) => key in schema.properties && fits(schema.properties[key], child),
      )
    )
  }

  /** Notes the members that a value shows. */
  const show = (as: string, given: Json, value: Json): void => {
    const [name, schema] = named(as, given)
    for (const [variant, each] of variantsOf(name, schema)) {
      if (fits(each, value)) show(variant, each, value)
    }
    if (Array.isArray(value)) {
      if (schema.items !== undefined)
        for (const item of value) show(`${name}[]`, schema.items, item)
    } else if (typeof value === "object" && value !== null) {
      for (const [key, member] of Object.entries<Json>(schema.properties ?? {})) {
        if (!(key in value)) continue
        shown.add(`${name}.${key}`)
        show(`${name}.${key}`, member, value[key])
      }
    }
  }

  const walk = (as: string, given: Json): void => {
    for (const example of given.examples ?? []) show(as, given, example)
    const [name, schema] = named(as, given)
    if (given !== schema) {
      if (walked.has(name)) return
      walked.add(name)
      for (const example of schema.examples ?? []) show(name, schema, example)
    }
    for (const [key, member] of Object.entries<Json>(schema.properties ?? {})) {
      const [, target] = named("", member)
      const own = examplesOf(member).length > 0
      const isTag = target.const !== undefined || target.enum?.length === 1
      members.add(`${name}.${key}`)
      if (own || isTag) shown.add(`${name}.${key}`)
      walk(`${name}.${key}`, member)
    }
    if (schema.items !== undefined) walk(`${name}[]`, schema.items)
    for (const [variant, each] of variantsOf(name, schema)) walk(variant, each)
  }

  const body = (name: string, content: Json): void => {
    for (const [mediaType, { schema }] of Object.entries<Json>(content ?? {})) {
      if (examplesOf(schema).length === 0) missing.add(`${name} ${mediaType}`)
      for (const example of examplesOf(schema)) show(name, schema, example)
      walk(name, schema)
    }
  }

  const problem = (as: string, status: string, given: Json): void => {
    const [name, schema] = named(as, given)
    for (const [variant, each] of variantsOf(name, schema)) problem(variant, status, each)
    for (const code of schema.properties?.code?.enum ?? []) {
      const found = examplesOf(schema).some(
        (example) => example.code === code && String(example.status) === status,
      )
      if (!found) missing.add(`${name} ${code}`)
    }
    walk(name, schema)
  }

  for (const [path, item] of Object.entries<Json>(document.paths)) {
    for (const [method, operation] of Object.entries<Json>(item)) {
      const name = `${method} ${path}`
      for (const { in: place, name: parameter, schema } of operation.parameters ?? []) {
        // Pages that send requests would send the example of a header field: an old position, or a
        // used key.
        if (place === "header") continue
        const given = examplesOf(schema)
        if (given.length === 0 && schema.default === undefined) missing.add(`${name} ${parameter}`)
      }
      body(`${name} body`, operation.requestBody?.content)
      for (const [status, { content }] of Object.entries<Json>(operation.responses)) {
        if (Number(status) < 400) body(`${name} ${status}`, content)
        else for (const { schema } of Object.values<Json>(content)) problem(name, status, schema)
      }
    }
  }
  for (const [name, { example }] of Object.entries<Json>(headers)) {
    if (example === undefined) missing.add(`header ${name}`)
  }
  return [...missing, ...[...members].filter((member) => !shown.has(member))]
}
