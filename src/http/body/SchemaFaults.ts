/**
 * Faults found by Effect Schema, in the terms of the contract: one per place, with a pointer, a stable
 * code and words that never repeat the input. The codes come from the checks (`api/Checks.ts`).
 */
import type { SchemaAST, SchemaIssue } from "effect"
import type { Fault } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { FaultCode } from "../api/Checks.ts"

/** One step of a JSON Pointer. */
export const pointerStep = (key: PropertyKey): string => {
  let step = String(key)
  if (step.length > limits.pointerKeyCharactersMax) {
    step = `${step.slice(0, limits.pointerKeyCharactersMax)}…`
  }
  // A cut or a caller may leave half of a surrogate pair.
  return `/${step.toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1")}`
}

/**
 * The faults of `issue` behind those that were `found` before, at most `most` in all, at most one for each place.
 * Pointers begin with `root`: nothing for a body, `query` or `path` for those parts of a request.
 */
export const schemaFaults = (
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
      const only = issue.issues.length === 1 ? issue.issues[0] : undefined
      const word = discriminatorOf(issue.ast)
      if (only !== undefined) collect(only, pointer, faults, most)
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

/** The discriminator of a union, and its values. */
const discriminatorOf = (
  ast: SchemaAST.Union,
): { readonly name: string; readonly values: ReadonlyArray<string> } | undefined => {
  const [first] = ast.types
  if (first?._tag !== "Objects") return undefined
  for (const { name } of first.propertySignatures) {
    const values = ast.types.map((type) => {
      const member =
        type._tag === "Objects"
          ? type.propertySignatures.find((signature) => signature.name === name)?.type
          : undefined
      return member?._tag === "Literal" ? String(member.literal) : undefined
    })
    if (values.every((value) => value !== undefined)) return { name: String(name), values }
  }
  return undefined
}

const isIntegerCheck = (filter: SchemaAST.Filter<unknown>): boolean =>
  filter.annotations?.representation?.id === "effect/schema/isInt"

/** Says what type or values `ast` asks for. */
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
