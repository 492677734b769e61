/** Names that a sentence has; of thousands of rigs each may have an order of one name. */
export const NAMED = 10;
/** Characters of a name in a sentence. */
const LONGEST = 200;

/** Names as a sentence has them, of `count` altogether: the first ones, and how many more there are. */
export function listed(names: readonly string[], count = names.length): string {
  const first = names.slice(0, NAMED).map(shortened);
  return count > first.length ? `${first.join(', ')} and ${count - first.length} more` : first.join(', ');
}

/** What somebody has written where only a name is of use. */
export function shortened(name: string): string {
  return name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name;
}
