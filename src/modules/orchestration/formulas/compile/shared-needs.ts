/**
 * What steps of one id would have waited for that were left out where nothing outside means them. Nobody can say which of those that uses of an
 * expansion have left out a step outside means by the id, so that it waits for the needs of all.
 */
export class SharedNeeds {
  /** One list for each id, which grows. */
  readonly #ofUses = new Map<string, { readonly known: Set<string>; readonly all: string[] }>();
  readonly #ofChecks = new Map<string, readonly string[]>();

  /** What stands for an id once one more step of it is left out, of a use or among the children of a check, where `before` has stood for it. */
  with(id: string, needs: readonly string[], before: readonly string[] | undefined, isCheck: boolean): readonly string[] {
    const { known, all } = this.#ofUses.get(id) ?? { known: new Set(), all: [] };
    // One of the formula itself, or that is there, is meant by whoever names it outside; a child of a check only where there is no other.
    if (before !== undefined && (isCheck || (before !== all && before !== this.#ofChecks.get(id)))) return before;
    if (isCheck) {
      this.#ofChecks.set(id, needs);
      return needs;
    }
    this.#ofUses.set(id, { known, all });
    for (const need of needs) {
      if (!known.has(need)) all.push(need);
      known.add(need);
    }
    return all;
  }
}
