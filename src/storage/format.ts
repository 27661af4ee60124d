/**
 * The format of all stored data: segments of journals, values, archives, the tables of a cluster.
 * There is one number for all of it, and no reader of another format: data of another format is
 * refused before anything is changed. An export (`engine/archive/exports/ExportLines.ts`) has a
 * number of its own, which rarely changes, and so leads from one format to another.
 *
 * A change of any stored form gets the next number. Below 128: a value has the number in seven
 * bits.
 */
export const dataFormat = 81

/** The refusal of data in another format, in words that follow the name of the data. */
export const otherFormat = (found: number, own: number = dataFormat): string =>
  `has format ${found}, and this version of Laurel has format ${own} alone. To bring the data over, ` +
  "export it with the version that wrote it (`laurel snapshots export`), and import the export here (`laurel snapshots import`)"
