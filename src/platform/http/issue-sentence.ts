import type { z } from 'zod';

/** How zod begins where a schema has no words of its own. */
const ITS_OWN = /^(?:Invalid|Too (?:small|big))\b/;

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  null: 'null',
};

/** Choices that are listed. */
const CHOICES = 30;

/** What a client has to do about an issue; what a schema says of itself stays. `given` is what stands there. */
export function sentenceOf(issue: z.core.$ZodIssue, given: unknown): string {
  if (!ITS_OWN.test(issue.message)) return issue.message;
  if (given === undefined && issue.code !== 'invalid_union') return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return limit(issue.origin, Number(issue.minimum), issue.inclusive === false ? 'more than' : 'at least');
    case 'too_big':
      return limit(issue.origin, Number(issue.maximum), issue.inclusive === false ? 'less than' : 'at most');
    case 'invalid_value':
      return issue.values.length > CHOICES
        ? 'is none of the accepted values'
        : `must be ${issue.values.map((value) => (value === '' ? '""' : String(value))).join(' or ')}`;
    case 'invalid_format':
      if (issue.format === 'datetime') return 'must be a time such as 2026-03-01T09:00:00Z';
      return issue.message.replace(/^Invalid string: /, '');
    case 'invalid_key':
      return `this name ${issue.issues.map((inner) => sentenceOf(inner, '')).join(', ')}`;
    default:
      return issue.message;
  }
}

function limit(origin: string, bound: number, word: string): string {
  if (origin === 'string' || origin === 'array') {
    if (word === 'at least' && bound === 1) return 'must not be empty';
    return `must have ${word} ${bound} ${origin === 'string' ? 'character' : 'item'}${bound === 1 ? '' : 's'}`;
  }
  return `must be ${word} ${bound}`;
}
