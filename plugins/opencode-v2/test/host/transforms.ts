/**
 * A value that plugins edit. The host keeps the callbacks and rebuilds the value from its beginning by running all of
 * them again, in order, whenever something has changed.
 */

/** Whom a callback belongs to. */
export interface Owner {
  /** Order of plugins; the host's own come first. */
  readonly order: number
  /** The callback threw: the owner is disabled, and nobody else. */
  fail(error: unknown): void
}

interface Entry<Editor> {
  callback: (editor: Editor) => void
  owner: Owner
  serial: number
}

export interface StateOptions<Value, Editor> {
  initial: () => Value
  editor: (value: Value) => Editor
  /** After a rebuild. */
  changed?: (value: Value) => void
  /** Runs everything twice, into a value that is thrown away first. */
  twice: boolean
}

/** Several states whose rebuilds wait for the end of one piece of work. */
export class Batch {
  #depth = 0
  #stale = new Set<{ settle(): void }>()

  /** Rebuilds after the work, or at once when none goes on. */
  note(state: { settle(): void }): void {
    this.#stale.add(state)
    if (this.#depth === 0) this.#flush()
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#depth++
    try {
      return await work()
    } finally {
      this.#depth--
      if (this.#depth === 0) this.#flush()
    }
  }

  #flush(): void {
    const states = [...this.#stale]
    this.#stale.clear()
    for (const state of states) state.settle()
  }
}

let serial = 0

export class State<Value, Editor extends object> {
  #entries: Entry<Editor>[] = []
  #value: Value
  #stale = true
  #building = false

  constructor(
    private readonly options: StateOptions<Value, Editor>,
    private readonly batch: Batch,
  ) {
    this.#value = options.initial()
  }

  /** Adds a callback; the function given back takes it out and reveals what it had covered. */
  add(owner: Owner, callback: (editor: Editor) => void): () => void {
    const entry = { callback, owner, serial: ++serial }
    this.#entries.push(entry)
    this.#entries.sort((a, b) => a.owner.order - b.owner.order || a.serial - b.serial)
    this.touch()
    return () => {
      this.#entries = this.#entries.filter((other) => other !== entry)
      this.touch()
    }
  }

  /** What the callbacks close over has changed: they run again. */
  touch(): void {
    this.#stale = true
    this.batch.note(this)
  }

  /** The value now. */
  read(): Value {
    this.settle()
    return this.#value
  }

  /** Rebuilds if anything has changed since. A callback that throws leaves the old value. */
  settle(): void {
    if (!this.#stale || this.#building) return
    this.#building = true
    try {
      if (this.options.twice && !this.#replay(this.options.initial())) return
      const value = this.options.initial()
      if (!this.#replay(value)) return
      this.#value = value
      this.#stale = false
    } finally {
      this.#building = false
    }
    this.options.changed?.(this.#value)
  }

  #replay(value: Value): boolean {
    for (const entry of [...this.#entries]) {
      const session = { live: true }
      try {
        const returned: unknown = entry.callback(guarded(this.options.editor(value), session))
        // Only a mistake makes a callback async; what it does after its first await must not reach the value.
        if (returned instanceof Promise) returned.catch(() => {})
      } catch (error) {
        entry.owner.fail(error)
        return false
      } finally {
        session.live = false
      }
    }
    return true
  }
}

/** An editor whose methods do nothing once the callback has returned. */
function guarded<Editor extends object>(editor: Editor, session: { live: boolean }): Editor {
  return new Proxy(editor, {
    get(target, key, receiver) {
      const member: unknown = Reflect.get(target, key, receiver)
      if (typeof member !== "function") return member
      return (...args: unknown[]) => (session.live ? member.apply(target, args) : undefined)
    },
  })
}
