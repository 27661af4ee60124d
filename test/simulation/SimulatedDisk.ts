/**
 * A disk in memory with all the faults that a real disk may have:
 *
 * - Written data is only in its cache until it is synced. `afterPowerCut` keeps synced data, and of
 *   the rest any combination of sectors of 512 bytes, sizes, and names of files and folders.
 * - Any call can fail. During any call the power can fail; then all later calls fail.
 * - It can be full, slow, or never answer.
 *
 * Every choice follows from the seed.
 */
import path from "node:path"
import { Effect } from "effect"
import {
  type Disk,
  DiskError,
  type DiskFile,
  type OnDisk,
  type OpenMode,
  type OpenOptions,
} from "../../src/storage/disk/Disk.ts"
import { Random } from "./random.ts"
import { copyTree, Folder, Inode, inodeOf, moveNode, type Node, survivingTree } from "./unsynced.ts"

interface Fault {
  readonly code: string
  /** All later calls fail too. */
  readonly lasting: boolean
}

export class SimulatedDisk implements Disk {
  #root = new Folder()
  readonly #faults = new Map<number, Fault>()
  #lasting: string | undefined
  #hanging: string | undefined
  /** The number of calls so far, and the kind of each. */
  calls = 0
  readonly log: Array<string> = []
  openFiles = 0
  /** How many bytes all files together may take. */
  capacityBytes = Number.POSITIVE_INFINITY
  /** How long each call takes. */
  callMs = 0

  /** A disk with these durable files in one folder. */
  static holding(folder: string, files: ReadonlyMap<string, Uint8Array>): SimulatedDisk {
    const disk = new SimulatedDisk()
    const made = disk.#makeFolders(folder)
    for (const [name, bytes] of files) made.names.set(name, inodeOf(bytes))
    made.sync()
    return disk
  }

  /**
   * The `call`th call from now on fails with this code. It does nothing, or only part of a write.
   */
  failCall(call: number, code: string): void {
    this.#faults.set(this.calls + call, { code, lasting: false })
  }

  /** The power fails during the `call`th call from now on. */
  cutPowerAt(call: number): void {
    this.#faults.set(this.calls + call, { code: "POWER", lasting: true })
  }

  /** From now on calls of this kind never answer. */
  hang(operation: string): void {
    this.#hanging = operation
  }

  /** The files of a folder as its readers see them. */
  files(folder: string): Map<string, Buffer> {
    const found = new Map<string, Buffer>()
    for (const [name, node] of this.#folder(folder).names) {
      if (node instanceof Inode) found.set(name, Buffer.from(node.bytes))
    }
    return found
  }

  /** The disk after a kill of the process only: the cache survives. */
  afterKill(): SimulatedDisk {
    const disk = new SimulatedDisk()
    disk.#root = copyTree(this.#root)
    return disk
  }

  /** The disk after a power cut now. */
  afterPowerCut(seed: number): SimulatedDisk {
    const random = new Random(seed)
    const disk = new SimulatedDisk()
    const kept = [0, 1, 0.5, random.next()][Math.floor(random.next() * 4)]!
    disk.#root = survivingTree(this.#root, random, kept)
    return disk
  }

  readonly open = (
    where: string,
    mode: OpenMode,
    { durable = false }: OpenOptions = {},
  ): OnDisk<DiskFile> =>
    this.#call("open", where, () => {
      const folder = this.#folder(path.dirname(where))
      const name = path.basename(where)
      let inode = folder.names.get(name)
      if (mode === "create") {
        if (inode === undefined) {
          inode = new Inode()
          folder.change({ kind: "add", name, node: inode })
        } else if (inode instanceof Inode) inode.resize(0)
      }
      if (inode === undefined) throw failure("open", where, "ENOENT")
      if (inode instanceof Folder) throw failure("open", where, "EISDIR")
      this.openFiles++
      return this.#file(where, inode, durable)
    })

  readonly rename = (from: string, to: string): OnDisk<void> =>
    this.#call("rename", from, () => {
      const node = this.#node(from)
      const replaced = this.#folder(path.dirname(to)).names.get(path.basename(to))
      if (replaced instanceof Folder && replaced.names.size > 0) {
        throw failure("rename", to, "ENOTEMPTY")
      }
      moveNode(this.#place(from), this.#place(to), node)
    })

  readonly remove = (where: string): OnDisk<void> =>
    this.#call("remove", where, () => {
      if (this.#node(where) instanceof Folder) throw failure("remove", where, "EISDIR")
      const [folder, name] = this.#place(where)
      folder.change({ kind: "remove", name })
    })

  readonly removeFolder = (where: string): OnDisk<void> =>
    this.#call("remove folder", where, () => {
      if (this.#folder(where).names.size > 0) throw failure("remove folder", where, "ENOTEMPTY")
      const [folder, name] = this.#place(where)
      folder.change({ kind: "remove", name })
    })

  readonly list = (where: string): OnDisk<ReadonlyArray<string>> =>
    this.#call("list", where, () => [...this.#folder(where).names.keys()])

  readonly makeFolder = (where: string): OnDisk<void> =>
    this.#call("make folder", where, () => {
      this.#makeFolders(where)
    })

  readonly syncFolder = (where: string): OnDisk<void> =>
    this.#call("sync folder", where, () => this.#folder(where).sync())

  readonly freeBytes = (where: string): OnDisk<number> =>
    this.#call("statfs", where, () => this.#freeBytes())

  #freeBytes(): number {
    const counted = new Set<Node>()
    const bytesIn = (folder: Folder): number => {
      let bytes = 0
      for (const node of folder.names.values()) {
        if (counted.has(node)) continue
        counted.add(node)
        bytes += node instanceof Inode ? node.bytes.length : bytesIn(node)
      }
      return bytes
    }
    return this.capacityBytes - bytesIn(this.#root)
  }

  /** A new folder is durable at once: the code that makes a folder syncs its parent. */
  #makeFolders(where: string): Folder {
    let folder = this.#root
    for (const name of namesOf(where)) {
      const found = folder.names.get(name)
      if (found instanceof Inode) throw failure("make folder", where, "ENOTDIR")
      const next = found ?? new Folder()
      if (found === undefined) {
        folder.change({ kind: "add", name, node: next })
        folder.sync()
      }
      folder = next
    }
    return folder
  }

  #folder(where: string): Folder {
    const node = this.#node(where)
    if (node instanceof Inode) throw failure("open", where, "ENOTDIR")
    return node
  }

  #node(where: string): Node {
    let node: Node = this.#root
    for (const name of namesOf(where)) {
      const next: Node | undefined = node instanceof Folder ? node.names.get(name) : undefined
      if (next === undefined) throw failure("find", where, "ENOENT")
      node = next
    }
    return node
  }

  #place(where: string): readonly [Folder, string] {
    return [this.#folder(path.dirname(where)), path.basename(where)]
  }

  /** A durable write is two calls, so that faults can come before, between and after them. */
  #file(where: string, inode: Inode, durable: boolean): DiskFile {
    const write = (position: number, bytes: Buffer) => {
      const room = Math.max(0, this.#freeBytes() + inode.bytes.length - position)
      inode.write(position, bytes.subarray(0, room))
      if (room < bytes.length) throw failure("write", where, "ENOSPC")
    }
    const sync = this.#call("sync", where, () => inode.sync())
    return {
      path: where,
      write: (position, pieces) => {
        const bytes = Buffer.concat(pieces)
        const part = () => inode.write(position, bytes.subarray(0, bytes.length >> 1))
        const written = this.#call("write", where, () => write(position, bytes), part)
        return durable ? Effect.andThen(written, sync) : written
      },
      read: (position, into) =>
        this.#call("read", where, () => inode.bytes.copy(into, 0, position)),
      sync,
      truncate: (size) => this.#call("truncate", where, () => inode.resize(size)),
      size: this.#call("size", where, () => inode.bytes.length),
      close: this.#call("close", where, () => {
        this.openFiles--
      }),
    }
  }

  /** `part`: what a failing call does nevertheless. */
  #call<A>(operation: string, where: string, run: () => A, part?: () => void): OnDisk<A> {
    return Effect.suspend(() => {
      this.calls++
      this.log.push(`${operation} ${path.basename(where)}`)
      if (this.#hanging === operation) return Effect.never
      const fault = this.#faults.get(this.calls)
      if (fault?.lasting === true && this.#lasting === undefined) {
        this.#lasting = fault.code
        part?.()
      } else if (fault !== undefined) part?.()
      const code = this.#lasting ?? fault?.code
      if (code !== undefined) return Effect.fail(new DiskError({ operation, path: where, code }))
      const answer = Effect.try({ try: run, catch: (error) => error as DiskError })
      return this.callMs > 0 ? Effect.andThen(Effect.sleep(this.callMs), answer) : answer
    })
  }
}

const failure = (operation: string, where: string, code: string): DiskError =>
  new DiskError({ operation, path: where, code })

const namesOf = (where: string): ReadonlyArray<string> =>
  where.split("/").filter((name) => name !== "")
