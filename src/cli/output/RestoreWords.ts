/** Text about restores: the plan, and the result. */
import { isoTime } from "../../domain/values/isoTime.ts"
import type { RestorePlan } from "../../engine/archive/restore/RestorePlan.ts"
import { amountOf, countText } from "./Table.ts"

/** The steps of the restore and the data that it loses, a line each. */
export const planWords = ({
  archive,
  at,
  lost,
  project,
  sequence,
  unknown,
}: RestorePlan): ReadonlyArray<string> => {
  const added = sequence - (archive?.sequence ?? 0)
  const record = (number: number, when: number | undefined) =>
    `${countText(number)}${when === undefined ? "" : ` of ${isoTime(when)}`}`
  const lines = [
    archive === null
      ? `No archive leads there; the journal has all ${amountOf(added, "record")} from the first one on.`
      : `Archive ${archive.id} ends at record ${countText(archive.sequence)}; the journal adds ${amountOf(added, "record")}.`,
    project === undefined
      ? `The last record will be ${record(sequence, at)}.`
      : `Project ${project.name} is restored to record ${record(project.after, project.at)}; its keys and everything else stay, up to record ${record(sequence, at)}.`,
  ]
  if (lost !== undefined) {
    const { count, erasureCount, first, firstAt, last, lastAt, revokedKeyCount } = lost
    const range = `${countText(first)} to ${countText(last)}`
    lines.push(
      `${amountOf(count, "record")}${project === undefined ? "" : " of the project"} will be lost: ${range}, from ${isoTime(firstAt)} to ${isoTime(lastAt)}.`,
    )
    if (erasureCount > 0) {
      lines.push(
        `${amountOf(erasureCount, "erasure")} of users will be undone: erase these users again (--json names them).`,
      )
    }
    if (revokedKeyCount > 0) {
      lines.push(
        `${amountOf(revokedKeyCount, "revocation")} of keys will be undone: revoke these keys again (--json names them).`,
      )
    }
  } else if (unknown === undefined) lines.push("No record of the journal will be lost.")
  if (unknown !== undefined) lines.push(unknown)
  lines.push("The current snapshot and journal will be kept beside the restored ones.")
  return lines
}

export const restoredWords = (
  users: number,
  sequence: number,
  replaced: string | undefined,
  project?: RestorePlan["project"],
): string =>
  [
    project === undefined
      ? `Restored: ${amountOf(users, "user")}, up to record ${countText(sequence)}.`
      : `Restored: ${project.name} as of record ${countText(project.after)}. In total: ${amountOf(users, "user")}, up to record ${countText(sequence)}.`,
    replaced === undefined ? "No data was replaced." : `The replaced data is in ${replaced}.`,
  ].join("\n")
