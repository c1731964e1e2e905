/** Objects as a plugin is given them: nothing beyond the contract, nothing to write to. */

/**
 * An object that throws on a member that no release has. A member that some release has is undefined here, so that a
 * plugin can look for it.
 *
 * @param known names that some release has, besides those of `members`.
 */
export function strict<T extends object>(name: string, members: T, known: readonly string[], on: boolean): T {
  Object.freeze(members)
  if (!on) return members
  return new Proxy(members, {
    get(target, key, receiver) {
      // An awaited or printed object is asked for these by the language itself.
      if (typeof key === "symbol" || key === "then" || key === "toJSON") return Reflect.get(target, key, receiver)
      if (Object.hasOwn(target, key) || known.includes(key)) return Reflect.get(target, key, receiver)
      if (typeof target === "function" && key in target) return Reflect.get(target, key, receiver)
      throw new Error(`the contract has no ${name}.${key}`)
    },
  })
}

/**
 * The event of a hook: fields to change and fields to read. The host reads back the first kind only.
 *
 * @param writes what a write to a read-only field does.
 * @param frozen the values of the changeable fields cannot be changed in place.
 */
export function hookEvent<W extends object, R extends object>(
  changeable: W,
  readonly: R,
  writes: "throw" | "ignore",
  frozen: boolean,
): W & R {
  const event: any = { ...changeable }
  if (frozen) for (const key of Object.keys(event)) event[key] = deepFreeze(copied(event[key]))
  for (const [key, value] of Object.entries(readonly)) {
    const property: PropertyDescriptor =
      writes === "throw"
        ? { value, enumerable: true, writable: false }
        : { get: () => value, set: () => {}, enumerable: true }
    Object.defineProperty(event, key, property)
  }
  return event
}

/** Freezes a value and all in it that is plain data. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value) || ArrayBuffer.isView(value)) return value
  Object.freeze(value)
  for (const inner of Object.values(value)) deepFreeze(inner)
  return value
}

function copied<T>(value: T): T {
  return typeof value === "object" && value !== null ? structuredClone(value) : value
}
