/**
 * Who is speaking: the number and build that both sides of a handshake compare.
 * Twin of version.go; both are held against schema/version.json by their tests.
 */

/**
 * The number both sides of a handshake compare. It changes when a message
 * changes in a way that an older peer would misread.
 */
export const protocol = 1

/** Build says which program is speaking. */
export interface Build {
  /** semantic version, or "devel" */
  version: string
  /** revision of the source, or empty */
  commit: string
  go?: string
  /** digest of the executable, to tell two builds of one version apart */
  id?: string
}
