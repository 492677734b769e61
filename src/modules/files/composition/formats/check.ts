import { z } from 'zod';
import { nearest } from '../../../../contract/nearest.js';
import type { Issue } from '../issue.js';
import { dotted } from '../toml/path.js';
import type { Document } from '../toml/parse.js';
import type { Format, UnknownKeys } from './format.js';
import { matches } from './pattern.js';
import { Cuts } from './prune.js';
import { isRequired, keysAt, schemaAt } from './shape.js';
import type { IssueTraits } from './values.js';

type Path = readonly PropertyKey[];

/** Something wrong in a document, before it has a file and a line. */
export type Finding = Omit<Issue, 'file' | 'line'>;

/** Looking for the key that was meant costs more than everything else: as many as are ever told get one. */
const SUGGESTIONS = 100;

/** What a schema finds in a document, and what cannot be used because of it. */
export function check(document: Document, format: Format): { findings: Finding[]; cuts: Cuts } {
  const cuts = new Cuts();
  const parsed = format.schema.safeParse(document);
  if (parsed.success) return { findings: [], cuts };
  let suggestions = SUGGESTIONS;
  const findings = parsed.error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      const policy = unknownKeys(format, issue.path);
      for (const key of issue.keys) cuts.add([...issue.path, key]);
      return issue.keys.map((key) => unknown(format, issue.path, key, policy, suggestions-- > 0));
    }
    const { severity, keep } = traits(issue);
    if (keep !== true) cuts.add(unusable(format, document, issue.path));
    return [{ severity: severity ?? ('error' as const), key: dotted(issue.path), ...wording(issue, document, format.schema) }];
  });
  return { findings, cuts };
}

function unknown(format: Format, path: Path, key: string, severity: UnknownKeys, suggest: boolean): Finding {
  const meant = suggest ? nearest(key, keysAt(format.schema, path)) : undefined;
  return { severity, key: dotted([...path, key]), message: `is not a known key${meant === undefined ? '' : `; did you mean ${meant}?`}` };
}

function unknownKeys(format: Format, path: Path): UnknownKeys {
  return format.strict?.some((pattern) => matches(pattern, path)) === true ? 'error' : format.unknown;
}

function traits(issue: z.core.$ZodIssue): IssueTraits {
  return issue.code === 'custom' ? ((issue.params ?? {}) as IssueTraits) : {};
}

/** What has to go: the value, or the table that is nothing without it. */
function unusable({ schema }: Format, document: Document, path: Path): Path {
  let at = path;
  while (at.length > 0 && isRequired(schema, at.slice(0, -1), at.at(-1)!)) at = at.slice(0, -1);
  return at;
}

function wording(issue: z.core.$ZodIssue, document: Document, schema: z.ZodType): Pick<Finding, 'message' | 'accepted'> {
  switch (issue.code) {
    case 'invalid_type':
      return {
        message:
          valueAt(document, issue.path) === undefined ? 'is required' : `must be ${kind(issue.expected, schemaAt(schema, issue.path))}`,
      };
    case 'invalid_value':
      return { message: 'is not one of the accepted values', accepted: issue.values.map(String) };
    case 'too_small':
      if (issue.origin === 'string' || issue.origin === 'array')
        return { message: issue.minimum === 1 ? 'must not be empty' : 'is too short' };
      return { message: `must be at least ${issue.minimum}` };
    case 'too_big':
      if (issue.origin === 'string') return { message: `must have at most ${issue.maximum} characters` };
      return { message: `must be at most ${issue.maximum}` };
    case 'invalid_key':
      return { message: `this name ${issue.issues.map((inner) => wording(inner, document, schema).message).join(', ')}` };
    case 'custom': {
      const { accepted } = traits(issue);
      return { message: issue.message, ...(accepted === undefined ? {} : { accepted }) };
    }
    default:
      return { message: issue.message };
  }
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  object: 'a table',
  record: 'a table',
  array: 'a list',
};

function kind(expected: string, schema: z.core.$ZodType | undefined): string {
  // The type comes before the format: a text where a whole number belongs is reported as no number.
  if (schema instanceof z.ZodNumber && schema.isInt) return 'a whole number';
  return KINDS[expected] ?? expected;
}

function valueAt(document: unknown, path: Path): unknown {
  let at = document;
  for (const segment of path) at = typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>)[segment] : undefined;
  return at;
}
