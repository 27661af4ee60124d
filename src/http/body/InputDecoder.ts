/**
 * Decodes one part of a request with its schema. First it checks the bounds of the value
 * (`compileBounds`), then it runs the schema.
 */
import { Result, type Schema, SchemaAST, type SchemaIssue, SchemaParser } from "effect"
import { pointerStep } from "../../domain/values/differences.ts"
import type { Fault } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { FaultCode } from "../api/Common.ts"

/*
 * Converts faults of Effect Schema to the contract's form: one fault for each place, with a
 * pointer, a stable code and words that never repeat the input. The checks in `api/Common.ts` have
 * the codes.
 */

/**
 * `found` and the faults of `issue`: at most `most` in all, and at most one for each place.
 * Pointers begin with `root`: "" for a body, `query` or `path` for these parts of a request.
 */
const schemaFaults = (
  issue: SchemaIssue.Issue,
  root: string,
  most: number = limits.faultsMax,
  found: ReadonlyArray<Fault> = [],
): ReadonlyArray<Fault> => {
  const faults = new Map(found.map((fault) => [fault.pointer, fault]))
  collect(issue, root, faults, most)
  return [...faults.values()]
}

const collect = (
  issue: SchemaIssue.Issue,
  pointer: string,
  faults: Map<string, Fault>,
  most: number,
): void => {
  if (faults.size >= most) return
  const add = (code: FaultCode, detail: string): void => {
    if (!faults.has(pointer)) faults.set(pointer, { pointer, code, detail })
  }
  switch (issue._tag) {
    case "Pointer": {
      const deeper = issue.path.reduce<string>((path, key) => path + pointerStep(key), pointer)
      collect(issue.issue, deeper, faults, most)
      return
    }
    case "Composite":
      for (const each of issue.issues) collect(each, pointer, faults, most)
      return
    case "Encoding":
      collect(issue.issue, pointer, faults, most)
      return
    case "MissingKey":
      add("missing", "is required")
      return
    case "UnexpectedKey":
      add("unknown_member", "is unknown")
      return
    case "Filter": {
      const { faultCode, message } = issue.filter.annotations ?? {}
      if (faultCode !== undefined) add(faultCode as FaultCode, message ?? "is not valid")
      else if (isIntegerCheck(issue.filter)) add("invalid_type", "must be an integer")
      else collect(issue.issue, pointer, faults, most)
      return
    }
    case "InvalidValue": {
      const { faultCode = "invalid_value", message } = issue.annotations ?? {}
      add(faultCode as FaultCode, message ?? "is not valid")
      return
    }
    case "InvalidType":
      addExpectation(issue.ast, add)
      return
    case "AnyOf": {
      const word = discriminatorOf(issue.ast)
      const intended = intendedOf(issue, word)
      if (intended !== undefined) collect(intended, pointer, faults, most)
      else if (word !== undefined && isRecord(issue.input)) {
        const { name, values } = word
        const [code, detail] = Object.hasOwn(issue.input, name)
          ? (["invalid_value", `must be one of ${values.join(", ")}`] as const)
          : (["missing", "is required"] as const)
        const place = pointer + pointerStep(name)
        if (!faults.has(place)) faults.set(place, { pointer: place, code, detail })
      } else addExpectation(issue.ast, add)
      return
    }
    default:
      add("invalid_value", "is not valid")
  }
}

const isRecord = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * The discriminator of a union of objects, and its values. The last alternative may lack it: `other`
 * has its required members.
 */
interface Discriminator {
  readonly name: string
  readonly values: ReadonlyArray<string>
  readonly other: ReadonlyArray<string>
}

const discriminatorOf = ({ types }: SchemaAST.Union): Discriminator | undefined => {
  const [first] = types
  if (first?._tag !== "Objects") return undefined
  for (const { name } of first.propertySignatures) {
    const members = types.map((type) =>
      type._tag === "Objects"
        ? type.propertySignatures.find((signature) => signature.name === name)?.type
        : null,
    )
    const last = types.at(-1)
    const isLastOther = members.at(-1) === undefined && last?._tag === "Objects"
    const named = isLastOther ? members.slice(0, -1) : members
    const values = named.flatMap((type) => (type?._tag === "Literal" ? [String(type.literal)] : []))
    if (values.length === 0 || values.length < named.length) continue
    const others = isLastOther ? last.propertySignatures : []
    const required = others.filter(({ type }) => !SchemaAST.isOptional(type))
    return { name: String(name), values, other: required.map((member) => String(member.name)) }
  }
  return undefined
}

/**
 * The issue of the alternative that the caller meant: the one that the discriminator names or, for
 * a value without it, the other one, if the value has a member that the other one requires.
 */
const intendedOf = (
  { input, issues }: SchemaIssue.AnyOf,
  word: Discriminator | undefined,
): SchemaIssue.Issue | undefined => {
  if (word === undefined || word.other.length === 0 || !isRecord(input)) {
    return issues.length === 1 ? issues[0] : undefined
  }
  const { name, other, values } = word
  if (Object.hasOwn(input, name)) {
    const value = (input as Readonly<Record<string, unknown>>)[name]
    return values.includes(value as string) ? issues[0] : undefined
  }
  return other.some((member) => Object.hasOwn(input, member)) ? issues.at(-1) : undefined
}

const isIntegerCheck = (filter: SchemaAST.Filter<unknown>): boolean =>
  filter.annotations?.representation?.id === "effect/schema/isInt"

/** The values of a union that accepts these values and objects; empty: it accepts others. */
const literalsBesideObjects = ({ types }: SchemaAST.Union): ReadonlyArray<string> => {
  const all = types.flatMap((type) => (type._tag === "Union" ? type.types : [type]))
  const isOther = all.some(({ _tag }) => _tag !== "Literal" && _tag !== "Objects")
  return isOther
    ? []
    : all.flatMap((type) => (type._tag === "Literal" ? [String(type.literal)] : []))
}

/** Notes the type or values that `ast` expects. */
const addExpectation = (
  ast: SchemaAST.AST,
  add: (code: FaultCode, detail: string) => void,
): void => {
  switch (ast._tag) {
    case "Literal":
      add("invalid_value", `must be ${String(ast.literal)}`)
      return
    case "Union": {
      const values = ast.types.map((type) => (type._tag === "Literal" ? type.literal : undefined))
      if (values.every((value) => value !== undefined)) {
        add("invalid_value", `must be one of ${values.join(", ")}`)
      } else if (literalsBesideObjects(ast).length > 0) {
        add(
          "invalid_value",
          `must be one of ${literalsBesideObjects(ast).join(", ")}, or an object`,
        )
      } else if (ast.types.every((type) => type._tag === "Objects")) {
        add("invalid_type", "must be an object")
      } else {
        add("invalid_type", "has the wrong type")
      }
      return
    }
    case "String":
      add("invalid_type", "must be a string")
      return
    case "Number":
      add("invalid_type", "must be a number")
      return
    case "Boolean":
      add("invalid_type", "must be true or false")
      return
    case "Arrays":
      add("invalid_type", "must be an array")
      return
    case "Objects":
      add("invalid_type", "must be an object")
      return
    default:
      add("invalid_type", "has the wrong type")
  }
}

/*
 * Reduces a parsed JSON value to the bounds of its schema before the schema runs. The schema visits
 * every member of the value and makes an issue for each fault, some microseconds each, without a
 * limit on either. Here a member costs a look-up, and the walk ends after `most` faults.
 *
 * This walk reports unknown members, items beyond the length of a list, members beyond the number
 * of a record, and faulty metadata, and removes them from the schema's input. The schema finds all
 * other faults.
 */

/**
 * The part of a value within bounds, and the faults of the rest. A value within bounds is not
 * copied.
 */
export interface Bounded {
  readonly value: unknown
  readonly faults: ReadonlyArray<Fault>
}

/**
 * Compiles the bounds of `schema`. Pointers of faults begin with `root`, and there are at most
 * `most` faults.
 */
const compileBounds = (
  schema: Schema.Top,
): ((value: unknown, root: string, most: number) => Bounded) => {
  const shape = shapeOf([schema.ast])
  return (value, root, most) => {
    if (shape === undefined) return { value, faults: [] }
    const cut = new Cut(root, most)
    const left = cut.value(shape, value)
    return { value: left, faults: cut.faults }
  }
}

/** The maximum size of a list or record, and the words of the fault. */
interface CountBound {
  readonly max: number
  readonly detail: string
}

/** The bounds of one place, over all alternatives of its schema. */
interface Shape {
  /** For objects with known members. */
  readonly members: ReadonlyMap<string, Shape | undefined> | undefined
  /** For objects with members of any name. */
  readonly record: CountBound | undefined
  readonly wholeFault: WholeFault | undefined
  /** For lists. */
  readonly list: CountBound | undefined
  readonly item: Shape | undefined
}

/** Finds a fault of an object as a whole, at a bounded cost. */
type WholeFault = (
  value: object,
) => { readonly code: FaultCode; readonly detail: string } | undefined

const shapeOf = (asts: ReadonlyArray<SchemaAST.AST>): Shape | undefined => {
  const all = asts.flatMap(alternatives)
  const objects = all.filter((ast) => ast._tag === "Objects")
  const arrays = all.filter((ast) => ast._tag === "Arrays")
  if (objects.length === 0 && arrays.length === 0) return undefined
  const records = objects.filter((ast) => ast.indexSignatures.length > 0)
  return {
    members: objects.length === 0 || records.length > 0 ? undefined : membersOf(objects),
    record: countBound(records, "maxProperties"),
    wholeFault: records.map(wholeFaultOf).find((found) => found !== undefined),
    list: countBound(arrays, "maxItems"),
    item: shapeOf(arrays.flatMap((ast) => ast.rest)),
  }
}

const alternatives = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  ast._tag === "Union" ? ast.types.flatMap(alternatives) : [ast]

const membersOf = (
  objects: ReadonlyArray<SchemaAST.Objects>,
): ReadonlyMap<string, Shape | undefined> => {
  const members = Map.groupBy(
    objects.flatMap((ast) => ast.propertySignatures),
    ({ name }) => String(name),
  )
  return new Map(
    [...members].map(([name, signatures]) => [name, shapeOf(signatures.map(({ type }) => type))]),
  )
}

/** The bound that all of `asts` state; if they differ, the widest. */
const countBound = (
  asts: ReadonlyArray<SchemaAST.AST>,
  keyword: "maxItems" | "maxProperties",
): CountBound | undefined => {
  const bounds = asts.map((ast) =>
    annotationsOf(ast)
      .map(({ keywords, message }) => ({ max: keywords?.[keyword], detail: message ?? "" }))
      .find((bound): bound is CountBound => typeof bound.max === "number"),
  )
  if (bounds.length === 0 || bounds.includes(undefined)) return undefined
  return (bounds as ReadonlyArray<CountBound>).reduce((a, b) => (a.max >= b.max ? a : b))
}

const wholeFaultOf = (ast: SchemaAST.AST): WholeFault | undefined =>
  annotationsOf(ast)
    .map(({ wholeFault }) => wholeFault)
    .find((found) => found !== undefined)

/** The annotations of the checks in `api/Common.ts`. */
interface CheckAnnotations {
  readonly message?: string
  readonly keywords?: Readonly<Record<string, unknown>>
  readonly wholeFault?: WholeFault
}

const annotationsOf = (ast: SchemaAST.AST): ReadonlyArray<CheckAnnotations> =>
  (ast.checks ?? []).map((check) => (check.annotations ?? {}) as CheckAnnotations)

/** One walk over one value. */
class Cut {
  readonly faults: Array<Fault> = []
  readonly #root: string
  readonly #most: number
  readonly #path: Array<string | number> = []

  constructor(root: string, most: number) {
    this.#root = root
    this.#most = most
  }

  value(shape: Shape, value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value
    if (Array.isArray(value)) return this.#list(shape, value)
    if (shape.members !== undefined) return this.#object(shape.members, value)
    return shape.record === undefined && shape.wholeFault === undefined
      ? value
      : this.#record(shape, value)
  }

  #full(): boolean {
    return this.faults.length >= this.#most
  }

  #fault(code: FaultCode, detail: string, key?: string): void {
    const path = key === undefined ? this.#path : [...this.#path, key]
    const pointer = path.reduce<string>((before, step) => before + pointerStep(step), this.#root)
    this.faults.push({ pointer, code, detail })
  }

  #list({ item, list }: Shape, value: ReadonlyArray<unknown>): unknown {
    let items = value
    if (list !== undefined && value.length > list.max) {
      this.#fault("too_long", list.detail)
      items = value.slice(0, list.max)
    }
    return item === undefined ? items : this.#items(item, items)
  }

  #items(shape: Shape, items: ReadonlyArray<unknown>): ReadonlyArray<unknown> {
    let copy: Array<unknown> | undefined
    for (let index = 0; index < items.length && !this.#full(); index++) {
      const left = this.#member(index, shape, items[index])
      if (left === items[index]) continue
      copy ??= [...items]
      copy[index] = left
    }
    return copy ?? items
  }

  #object(members: ReadonlyMap<string, Shape | undefined>, value: object): object {
    const all = value as Readonly<Record<string, unknown>>
    let changed = false
    const known: Array<[string, unknown]> = []
    for (const name in all) {
      if (this.#full()) break
      if (!members.has(name)) {
        this.#fault("unknown_member", "is unknown", name)
        changed = true
        continue
      }
      const shape = members.get(name)
      const left = shape === undefined ? all[name] : this.#member(name, shape, all[name])
      changed ||= left !== all[name]
      known.push([name, left])
    }
    return changed ? Object.fromEntries(known) : value
  }

  #record({ record, wholeFault }: Shape, value: object): object {
    const fault = wholeFault?.(value)
    if (fault !== undefined) {
      this.#fault(fault.code, fault.detail)
      return {}
    }
    if (record === undefined) return value
    const names = Object.keys(value)
    if (names.length <= record.max) return value
    this.#fault("too_long", record.detail)
    const kept = names.slice(0, record.max)
    return Object.fromEntries(kept.map((name) => [name, (value as never)[name]]))
  }

  #member(key: string | number, shape: Shape, value: unknown): unknown {
    this.#path.push(key)
    const left = this.value(shape, value)
    this.#path.pop()
    return left
  }
}

/**
 * The decoded value, or at most `most` faults, at most one for each place. Pointers begin with
 * `root`.
 */
export type InputDecoder<Value> = (
  value: unknown,
  root: string,
  most: number,
) => Result.Result<Value, ReadonlyArray<Fault>>

/** The decoder of `schema`. The first use makes it: a server has about a hundred, and uses few. */
export const inputDecoder = <Value>(
  schema: Schema.Top,
  options: SchemaAST.ParseOptions,
): InputDecoder<Value> => {
  let decoder: InputDecoder<Value> | undefined
  return (value, root, most) => {
    decoder ??= makeDecoder<Value>(schema, options)
    return decoder(value, root, most)
  }
}

const makeDecoder = <Value>(
  schema: Schema.Top,
  options: SchemaAST.ParseOptions,
): InputDecoder<Value> => {
  const bounds = compileBounds(schema)
  const decode = SchemaParser.decodeUnknownResult(
    schema as unknown as Schema.ConstraintDecoder<Value>,
    options,
  )
  return (value, root, most) => {
    const bounded = bounds(value, root, most)
    if (bounded.faults.length >= most) return Result.fail(bounded.faults)
    const decoded = decode(bounded.value)
    if (Result.isSuccess(decoded)) {
      return bounded.faults.length === 0
        ? Result.succeed(decoded.success)
        : Result.fail(bounded.faults)
    }
    return Result.fail(schemaFaults(decoded.failure, root, most, bounded.faults))
  }
}
