/** What of an event says what it is about. */
interface Telling {
  readonly message?: string | undefined;
  readonly payload?: unknown;
}

const CARRIED = ['bead', 'session', 'message'] as const;
const NAMES = ['alias', 'title', 'subject', 'session_name'] as const;
const REASONS = ['detail', 'error', 'error_message', 'error_msg', 'reason', 'error_code'] as const;
/** Characters of each: a line shows no more, and a payload may hold a book. */
const LONGEST = 300;

/**
 * What an event says in one line for people: its message; else the name of what it carries, such as the title of a bead, and why it
 * happened; `undefined` where it says nothing of that. The text is as others wrote it: whoever shows it makes it harmless first.
 */
export function gistOf({ message, payload }: Telling): string | undefined {
  if (message !== undefined && message !== '') return message;
  const said = membersOf(payload);
  const carried = CARRIED.map((name) => textOf(membersOf(said[name]), NAMES)).find((text) => text !== undefined);
  const words = [carried ?? textOf(said, NAMES), textOf(said, REASONS) ?? firstOf(said.errors)].filter((text) => text !== undefined);
  return words.length === 0 ? undefined : words.join(': ');
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const firstOf = (errors: unknown): string | undefined =>
  textOf({ first: Array.isArray(errors) ? (errors[0] as unknown) : undefined }, ['first']);

function textOf(members: Readonly<Record<string, unknown>>, names: readonly string[]): string | undefined {
  const found = names.map((name) => members[name]).find((value) => typeof value === 'string' && value !== '');
  return (found as string | undefined)?.slice(0, LONGEST);
}
