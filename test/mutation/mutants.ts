/** Small changes of a module's text that its tests should notice, one at a time. */
import { parseAst } from "vitest/node"

export interface Mutant {
  readonly file: string
  readonly line: number
  /** The change in a word or two. */
  readonly rule: string
  readonly before: string
  readonly after: string
  readonly start: number
  readonly end: number
}

/** A node of the syntax tree, with the fields that the rules look at. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly operator?: string
  readonly left?: Node
  readonly right?: Node
  readonly test?: Node
  readonly expression?: Node
  readonly argument?: Node
  readonly value?: unknown
}

type Change = readonly [rule: string, node: Node, after: string]

const operators: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "===": "!==",
  "!==": "===",
  "&&": "||",
  "||": "&&",
  "+=": "-=",
  "-=": "+=",
}

/** Words of a log line are no behaviour. */
const logging = /^(yield\* )?Effect\.(log|annotateLogs)/

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && "start" in value

/** The changes of one node. */
const changesOf = (node: Node, text: (node: Node) => string): ReadonlyArray<Change> => {
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression":
    case "AssignmentExpression": {
      const left = node.left!
      const right = node.right!
      const operator = node.operator!
      if (operator === "??") return [["no fallback", node, text(left)]]
      const other = operators[operator]
      const isText = [left, right].some((side) => /^["'`]/.test(text(side)))
      if (other === undefined || (isText && /^\+/.test(operator))) return []
      const gap = text({ ...node, start: left.end, end: right.start })
      const after = `${text(left)}${gap.replace(operator, other)}${text(right)}`
      return [[`${operator} to ${other}`, node, after]]
    }
    case "IfStatement":
    case "ConditionalExpression": {
      const test = node.test!
      return [["condition negated", test, `!(${text(test)})`]]
    }
    case "ExpressionStatement": {
      const { type } = node.expression!
      const drops =
        /^(Call|Await|Yield|Assignment|Update)Expression$/.test(type) && !logging.test(text(node))
      return drops ? [["statement dropped", node, ";"]] : []
    }
    case "UnaryExpression":
      return node.operator === "!" ? [["! dropped", node, text(node.argument!)]] : []
    case "UpdateExpression": {
      const isUp = node.operator === "++"
      const after = text(node).replace(isUp ? "++" : "--", isUp ? "--" : "++")
      return [[isUp ? "++ to --" : "-- to ++", node, after]]
    }
    case "Literal":
      if (typeof node.value === "boolean") return [["boolean", node, String(!node.value)]]
      if (typeof node.value === "number") return [["one more", node, `(${text(node)} + 1)`]]
      return []
    default:
      return []
  }
}

/** All mutants of a module. */
export const mutantsOf = (file: string, source: string): ReadonlyArray<Mutant> => {
  const mutants: Array<Mutant> = []
  const text = ({ end, start }: Node): string => source.slice(start, end)
  const visit = (node: Node): void => {
    // Types are erased, and what a line of the log says is no behaviour.
    if (/^TS(?!AsExpression|NonNull|Satisfies)|^(Import|ExportAll)/.test(node.type)) return
    if (node.type === "CallExpression" && logging.test(text(node))) return
    for (const [rule, { end, start }, after] of changesOf(node, text)) {
      const line = source.slice(0, start).split("\n").length
      mutants.push({ file, line, rule, before: source.slice(start, end), after, start, end })
    }
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child)
    }
  }
  visit(parseAst(source, { lang: "ts" }) as unknown as Node)
  return mutants
}
