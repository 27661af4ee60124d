/**
 * Finds the place where a text stops being JSON. `JSON.parse` tells the place of some faults only,
 * in words that quote the text. It is one pass without recursion, and runs only after `JSON.parse`
 * has failed.
 */

type Expected = "value" | "valueOrEnd" | "name" | "nameOrEnd" | "colon" | "commaOrEnd" | "nothing"

/**
 * The index of the first character that is not valid JSON; the length of the text if it ends too
 * early.
 */
export const jsonFault = (text: string): number => {
  /** The closing brackets of the enclosing objects and arrays. */
  const closing: Array<"}" | "]"> = []
  let expected: Expected = "value"
  for (let at = afterSpace(text, 0); at < text.length; at = afterSpace(text, at)) {
    const character = text[at]!
    const close = closing.at(-1)
    if (character === close && endsHere.has(expected)) {
      closing.pop()
      at++
      expected = closing.length === 0 ? "nothing" : "commaOrEnd"
    } else if (expected === "commaOrEnd") {
      if (character !== ",") return at
      at++
      expected = close === "}" ? "name" : "value"
    } else if (expected === "colon") {
      if (character !== ":") return at
      at++
      expected = "value"
    } else if (expected === "value" || expected === "valueOrEnd") {
      if (character === "{" || character === "[") {
        closing.push(character === "{" ? "}" : "]")
        at++
        expected = character === "{" ? "nameOrEnd" : "valueOrEnd"
        continue
      }
      const end = afterScalar(text, at)
      if (end.isFault) return end.at
      at = end.at
      expected = closing.length === 0 ? "nothing" : "commaOrEnd"
    } else {
      // A name is expected, or nothing.
      if (expected === "nothing" || character !== '"') return at
      const end = afterString(text, at)
      if (end.isFault) return end.at
      at = end.at
      expected = "colon"
    }
  }
  return text.length
}

/** The states in which the closing bracket may come. */
const endsHere: ReadonlySet<Expected> = new Set(["valueOrEnd", "nameOrEnd", "commaOrEnd"])

/** The index after a value, or the index of its first wrong character. */
interface End {
  readonly at: number
  readonly isFault: boolean
}

const good = (at: number): End => ({ at, isFault: false })
const fault = (at: number): End => ({ at, isFault: true })

const afterSpace = (text: string, from: number): number => {
  let at = from
  while (at < text.length && " \t\n\r".includes(text[at]!)) at++
  return at
}

const afterScalar = (text: string, from: number): End => {
  const first = text[from]!
  if (first === '"') return afterString(text, from)
  const word = { t: "true", f: "false", n: "null" }[first]
  return word === undefined ? afterNumber(text, from) : afterWord(text, from, word)
}

const afterWord = (text: string, from: number, word: string): End => {
  for (let index = 0; index < word.length; index++) {
    if (text[from + index] !== word[index]) return fault(from + index)
  }
  return good(from + word.length)
}

const afterNumber = (text: string, from: number): End => {
  let at = text[from] === "-" ? from + 1 : from
  const digits = (): boolean => {
    const begun = at
    while (at < text.length && text[at]! >= "0" && text[at]! <= "9") at++
    return at > begun
  }
  if (text[at] === "0") at++
  else if (!digits()) return fault(at)
  if (text[at] === ".") {
    at++
    if (!digits()) return fault(at)
  }
  if (text[at] === "e" || text[at] === "E") {
    at++
    if (text[at] === "+" || text[at] === "-") at++
    if (!digits()) return fault(at)
  }
  return good(at)
}

const afterString = (text: string, from: number): End => {
  let at = from + 1
  for (; at < text.length && text[at] !== '"'; at++) {
    if (text[at]! < " ") return fault(at)
    if (text[at] !== "\\") continue
    at++
    if (text[at] === "u") {
      for (let digit = 0; digit < 4; digit++) {
        at++
        if (!/^[0-9a-fA-F]$/.test(text[at] ?? "")) return fault(Math.min(at, text.length))
      }
    } else if (at < text.length && !'"\\/bfnrt'.includes(text[at]!)) return fault(at)
  }
  return at < text.length ? good(at + 1) : fault(text.length)
}
