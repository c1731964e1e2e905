/** The order in which a test wants the hooks of several calls to run. */

export class Sequence {
  #left: string[]
  #waiting: (() => void)[] = []

  constructor(order: readonly string[]) {
    this.#left = [...order]
  }

  /** Runs when all points before this one have run. A point that is not in the order runs at once. */
  async at<T>(point: string, run: () => Promise<T>): Promise<T> {
    while (this.#left.includes(point) && this.#left[0] !== point) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    try {
      return await run()
    } finally {
      this.#drop((left) => left !== point)
    }
  }

  /** A call is over: whatever it has not reached must not hold up the others. */
  leave(index: number): void {
    this.#drop((left) => !left.endsWith(`:${index}`))
  }

  #drop(keep: (left: string) => boolean): void {
    this.#left = this.#left.filter(keep)
    for (const wake of this.#waiting.splice(0)) wake()
  }
}
