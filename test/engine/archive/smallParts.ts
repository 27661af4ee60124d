/**
 * Partitions of a few records and parts of a few pages, in a process that loads this module first; and a file system without
 * hard links, where LAUREL_TEST_NO_LINKS is set.
 */
import fs from "node:fs/promises"
import { limits } from "../../../src/Limits.ts"

Object.assign(limits, { historyPartitionRecords: 20, archivePartBytes: 1_000 })

if (process.env.LAUREL_TEST_NO_LINKS !== undefined) {
  fs.link = () => Promise.reject(Object.assign(new Error("no links"), { code: "EPERM" }))
}
