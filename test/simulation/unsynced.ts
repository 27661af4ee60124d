/** Files and folders that know what of them is durable, and what a power cut makes of the rest. */
import type { Random } from "./random.ts"

const sectorBytes = 512

/** A file: what its readers see, what is durable, and which sectors differ. */
export class Inode {
  bytes = Buffer.alloc(0)
  durable = Buffer.alloc(0)
  readonly dirty = new Set<number>()

  resize(size: number): void {
    const resized = Buffer.alloc(size)
    this.bytes.copy(resized)
    this.#touch(Math.min(size, this.bytes.length), Math.max(size, this.bytes.length))
    this.bytes = resized
  }

  write(position: number, piece: Uint8Array): void {
    if (position + piece.length > this.bytes.length) this.resize(position + piece.length)
    this.bytes.set(piece, position)
    this.#touch(position, position + piece.length)
  }

  sync(): void {
    this.durable = Buffer.from(this.bytes)
    this.dirty.clear()
  }

  copy(): Inode {
    const copy = inodeOf(this.bytes)
    copy.durable = this.durable
    for (const sector of this.dirty) copy.dirty.add(sector)
    return copy
  }

  /** What a power cut leaves: each unsynced sector, and the size, old or new. */
  survivor(random: Random, kept: number): Inode {
    const size = random.next() < kept ? this.bytes.length : this.durable.length
    const bytes = Buffer.alloc(size)
    this.durable.copy(bytes)
    for (const sector of this.dirty) {
      if (random.next() >= kept) continue
      const start = sector * sectorBytes
      if (start >= size) continue
      const end = Math.min(start + sectorBytes, size)
      bytes.fill(0, start, end)
      if (start < this.bytes.length) this.bytes.copy(bytes, start, start, end)
    }
    return inodeOf(bytes)
  }

  #touch(from: number, to: number): void {
    for (let at = Math.floor(from / sectorBytes); at * sectorBytes < to; at++) this.dirty.add(at)
  }
}

/** A file that durably holds `bytes`. */
export const inodeOf = (bytes: Uint8Array): Inode => {
  const inode = new Inode()
  inode.bytes = Buffer.from(bytes)
  inode.sync()
  return inode
}

type Change =
  | { readonly kind: "add"; readonly name: string; readonly inode: Inode }
  | { readonly kind: "remove"; readonly name: string }
  | { readonly kind: "rename"; readonly from: string; readonly to: string; readonly inode: Inode }

const applyChange = (names: Map<string, Inode>, change: Change): void => {
  if (change.kind === "add") names.set(change.name, change.inode)
  else if (change.kind === "remove") names.delete(change.name)
  else {
    names.delete(change.from)
    names.set(change.to, change.inode)
  }
}

/** The names in a folder, those that are durable, and the changes between. */
export class Folder {
  names = new Map<string, Inode>()
  durable = new Map<string, Inode>()
  pending: Array<Change> = []

  change(change: Change): void {
    applyChange(this.names, change)
    this.pending.push(change)
  }

  copy(copyOf: (inode: Inode) => Inode): Folder {
    const copy = new Folder()
    for (const [name, inode] of this.names) copy.names.set(name, copyOf(inode))
    for (const [name, inode] of this.durable) copy.durable.set(name, copyOf(inode))
    copy.pending = this.pending.map((change) =>
      change.kind === "remove" ? change : { ...change, inode: copyOf(change.inode) },
    )
    return copy
  }

  sync(): void {
    this.durable = new Map(this.names)
    this.pending = []
  }
}

/** What a power cut leaves of a folder's names: each unsynced change happened or did not. */
export const survivingNames = (folder: Folder, random: Random, kept: number) => {
  const names = new Map(folder.durable)
  for (const change of folder.pending) if (random.next() < kept) applyChange(names, change)
  return names
}
