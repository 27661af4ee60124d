/** The plan of a file of definitions in words. */
import type { BodyOf } from "../../http/contract/Operations.ts"

export type Plan = BodyOf<"definitions.diff">

const signs = { create: "+", update: "~", delete: "-" } as const

/** A line for each change, with the members that differ below it. */
export const planText = ({ changes, created, deleted, updated }: Plan): string =>
  changes.length === 0
    ? "Nothing to change."
    : [
        ...changes.flatMap(({ id, kind, members, name, op }) => [
          `${signs[op]} ${kind}${id === null ? "" : ` ${id} (${visible(name)})`}`,
          ...(op === "update" ? members.map(memberText) : []),
        ]),
        `${created} to create, ${updated} to change, ${deleted} to delete.`,
      ].join("\n")

const memberText = ({ after, before, name }: Plan["changes"][number]["members"][number]): string =>
  `    ${name}: ${visible(before ?? "none")} → ${visible(after ?? "none")}`

/** Text of others, without what moves the cursor of a terminal or reorders a line. */
const visible = (text: string): string =>
  text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (mark) => `\\u{${mark.codePointAt(0)!.toString(16)}}`)
