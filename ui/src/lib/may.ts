interface Caller {
  readonly rights: readonly string[];
  /** Null: all of them. */
  readonly cities: readonly string[] | null;
}

const ALL = 4;

/** What a key is limited to, in a few words; undefined where it is to nothing. */
export function limitsOf({ rights, cities }: Caller): string | undefined {
  const may = rights.length === 0 ? 'reads only' : rights.length < ALL ? `may ${rights.join(', ')}` : undefined;
  const where = cities === null ? undefined : `in ${cities.length === 0 ? 'no city' : cities.join(', ')}`;
  const words = [may, where].filter((one) => one !== undefined);
  return words.length === 0 ? undefined : words.join(' ');
}
