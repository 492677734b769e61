/** What an address filters by: texts, as they were typed. Nothing of them is read as JSON, or `true` and `1e3` would be something else. */
export const parseSearch = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text));

export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(search))
    if (['string', 'number', 'boolean'].includes(typeof value) && value !== '') given.set(name, String(value));
  return given.size === 0 ? '' : `?${given}`;
}

/** The members of an address that a view knows. */
export const words =
  <K extends string>(...names: readonly K[]) =>
  (search: Record<string, unknown>): { [N in K]?: string } => {
    const found: { [N in K]?: string } = {};
    for (const name of names) {
      const value = search[name];
      if (typeof value === 'string' && value !== '') found[name] = value;
    }
    return found;
  };
