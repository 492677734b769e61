import type { Ask } from '../api/types.js';
import { whyUntold, type Call } from './approve.js';

/** What a question asks, whoever asks it: the same words, about the same tool, with the same answers. What the tool would do is compared where it is shown. */
const asks = ({ kind, prompt, choices, metadata }: Ask): string =>
  JSON.stringify([kind, prompt, metadata?.tool_name, (choices ?? []).map((one) => [one.id, one.label, one.kind])]);

/**
 * Of one among these questions those that ask the same, itself among them. One without choices is answered in words, and by itself. Each is put
 * into words once, however many are looked for.
 */
export function alikeOf(all: readonly Ask[]): (one: Ask) => readonly Ask[] {
  const groups = new Map<string, Ask[]>();
  const words = new Map<Ask, string>();
  for (const one of all) {
    if ((one.choices ?? []).length === 0) continue;
    const same = asks(one);
    words.set(one, same);
    const group = groups.get(same);
    if (group === undefined) groups.set(same, [one]);
    else group.push(one);
  }
  return (one) => groups.get(words.get(one) ?? '') ?? [one];
}

/** A value as text, whatever the order of its members. */
export const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  ) ?? '';

/** What a call would do, as one text: all of it that anybody may be shown. */
const doing = ({ use, result }: Call): string =>
  textOf([use.name, use.file_path, use.input, result?.file_path, result?.content, result?.structured]);

/** Whether two calls would do the same. Of what says nothing nobody knows that. */
export const sameCall = (one: Call, other: Call): boolean => whyUntold(one) === undefined && doing(one) === doing(other);
