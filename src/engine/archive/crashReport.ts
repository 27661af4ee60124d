/**
 * The process that a server leaves behind when it ends without a word (`WorkerHost`): by a signal, as LMDB ends it at a
 * page that is damaged. Where one is, it says so for the server; else it is silent. It changes nothing. It loads nothing of
 * Effect, so that every end by a signal costs little and the words come soon.
 */
import path from "node:path"
import { makeAnew } from "../../storage/lmdb/LmdbPages.ts"
import { findPageFault } from "./pageFault.ts"

const fault = findPageFault(path.join(process.argv[2]!, "live"))
if (fault !== undefined) console.error(`laurel: The server has ended. ${fault}. ${makeAnew}.`)
