/**
 * What steps of one id would have waited for that uses of an expansion have left out. Nobody can say which of them a step outside means by the
 * id, so that it waits for the needs of all.
 */
export class SharedNeeds {
  readonly #needs = new Map<string, { readonly known: Set<string>; readonly all: string[] }>();

  /** Those of all until now: one list for each id, which grows. */
  of(id: string): readonly string[] | undefined {
    return this.#needs.get(id)?.all;
  }

  with(id: string, needs: readonly string[]): readonly string[] {
    const { known, all } = this.#needs.get(id) ?? { known: new Set(), all: [] };
    this.#needs.set(id, { known, all });
    for (const need of needs) {
      if (!known.has(need)) all.push(need);
      known.add(need);
    }
    return all;
  }
}
