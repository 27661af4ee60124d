/**
 * The process that a server leaves behind when it ends without a word (`WorkerHost`): by a signal, as LMDB ends it at a
 * page that is damaged. Where one is, it says so for the server; else it is silent. It changes nothing.
 */
import path from "node:path"
import { makeAnew } from "../../storage/LmdbCheck.ts"
import { findPageFault } from "./PagesJob.ts"

const fault = findPageFault(path.join(process.argv[2]!, "live"))
if (fault !== undefined) console.error(`laurel: The server has ended. ${fault}. ${makeAnew}.`)
