/** Texts that aim at processor time, for header fields and for regular expressions. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import path from "node:path"
import { parseSync, Visitor } from "rolldown/utils"

const root = path.resolve(import.meta.dirname, "../../..")

/**
 * Rooms whose texts come from operators, from this server's files, or from the server to a browser.
 */
const ofOperators =
  /^src\/(?:cli|config|storage|engine|metrics|client|dashboard\/browser|Build\.ts)/

export interface FoundExpression {
  readonly file: string
  readonly expression: RegExp
}

/**
 * The regular expressions in `src/` that read callers' text, and the header fields that are read by
 * name.
 */
export const callersMeet = (): {
  readonly expressions: ReadonlyArray<FoundExpression>
  readonly fields: ReadonlySet<string>
} => {
  const files = execFileSync("git", ["ls-files", "src"], { cwd: root, encoding: "utf8" })
  const expressions: Array<FoundExpression> = []
  const fields = new Set<string>()
  for (const file of files.split("\n")) {
    if (!file.endsWith(".ts") || ofOperators.test(file)) continue
    const { program } = parseSync(file, readFileSync(path.join(root, file), "utf8"))
    new Visitor({
      Literal: (node) => {
        if (!("regex" in node)) return
        const { flags, pattern } = node.regex
        expressions.push({ file, expression: new RegExp(pattern, flags) })
      },
      MemberExpression: ({ computed, object, property }) => {
        const named =
          object.type === "Identifier"
            ? object.name
            : object.type === "MemberExpression" && object.property.type === "Identifier"
              ? object.property.name
              : ""
        if (!/^(?:headers|requestHeaders)$/.test(named)) return
        if (property.type === "Literal" && typeof property.value === "string") {
          fields.add(property.value)
        } else if (
          !computed &&
          property.type === "Identifier" &&
          !/^(?:indexOf|push)$/.test(property.name)
        ) {
          fields.add(property.name)
        }
      },
    }).visit(program)
  }
  return { expressions, fields }
}

/** The characters that a class or an escape of an expression matches. */
const samples: Readonly<Record<string, string>> = { d: "1", w: "a", s: " ", ".": "x" }

/** The characters that an expression distinguishes, and its literal parts. */
const partsOf = ({ source }: RegExp) => {
  const literal = source
    .replace(/\\[bBpP](?:\{[^}]*\})?|\(\?<?[:=!]|[()^$*+?|[\]{}]/g, "")
    .replace(/\\u([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/\\(.)/g, (_, one: string) => samples[one] ?? one)
  return { literal, alphabet: [...new Set([...literal.slice(0, 40), " ", "a", "1", '"'])] }
}

/** Beginnings and repetitions that may cost an expression more than time linear in the text. */
export const attacksOn = function* (
  expression: RegExp,
): Generator<{ readonly start: string; readonly piece: string }> {
  const { alphabet, literal } = partsOf(expression)
  const few = alphabet.slice(0, 8)
  const pieces = [...alphabet, ...few.flatMap((one) => few.map((other) => one + other))]
  const starts = [
    "",
    ...few,
    literal,
    ...[1, 2, 3].map((n) => literal.slice(0, (literal.length * n) / 4)),
  ]
  for (const start of new Set(starts)) for (const piece of new Set(pieces)) yield { start, piece }
}

/** Runs an expression according to its flags: with `g` or `y` repeatedly to the end. */
export const useOn = (expression: RegExp, text: string): void => {
  if (expression.global) for (const _ of text.matchAll(expression));
  else if (expression.sticky) {
    expression.lastIndex = 0
    while (expression.exec(text)?.[0]);
  } else expression.exec(text)
}
