/** A file system without hard links where LAUREL_TEST_NO_LINKS is set, in a process that loads this module first. */
import fs from "node:fs/promises"

if (process.env.LAUREL_TEST_NO_LINKS !== undefined) {
  fs.link = () => Promise.reject(Object.assign(new Error("no links"), { code: "EPERM" }))
}
