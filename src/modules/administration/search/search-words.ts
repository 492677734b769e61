const MOST_WORDS = 8;
const LONGEST_WORD = 64;
/** What is shorter begins too many words: it has to be one. */
const SHORTEST_BEGINNING = 2;

/** A text as a search takes it. */
export interface Wanted {
  /** As it was typed, for names. */
  readonly text: string;
  /** A `tsquery` that the words of a text fit, or a name; undefined when it has none to look for. */
  readonly query: string | undefined;
  /** The same of whole words, where there are several; names only have to begin so. What fits it fits `query`. */
  readonly whole: string | undefined;
  /** Patterns that a text with all of the words is like, whatever else: they cost much less than its words. Undefined when only a name can fit. */
  readonly patterns: readonly string[] | undefined;
}

/** Only letters and digits become words, so that nothing in a text is an operator. */
export function wantedOf(text: string): Wanted {
  const words = [...new Set(text.split(/[^\p{L}\p{N}]+/u))].filter((word) => word !== '').slice(0, MOST_WORDS);
  const isLong = (word: string): boolean => word.length >= SHORTEST_BEGINNING;
  const one = (word: string): string => `'${word.slice(0, LONGEST_WORD)}'`;
  const all = words.map((word) => `${one(word)}${isLong(word) ? ':*' : ''}`);
  // A name is one lexeme, whatever is in it: `search_words` of the database has both.
  const name = isLong(text) ? [`'=${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}':*`] : [];
  const query = [...(words.some(isLong) ? [`(${all.join(' & ')})`] : []), ...name].join(' | ');
  const whole = words.filter(isLong).length > 1 ? [`(${words.map(one).join(' & ')})`, ...name].join(' | ') : undefined;
  const patterns = words.some(isLong) ? words.map((word) => `%${word.slice(0, LONGEST_WORD)}%`) : undefined;
  return { text, query: query === '' ? undefined : query, whole, patterns };
}
