import { z } from 'zod';

const MOST_SHOWN = 60;
/** What may carry a password or a token. A mistyped address cannot be taken apart, so nothing behind its scheme is shown. */
const SECRET = /_(URL|ENDPOINT|HEADERS)$/;
const SCHEME = /^[a-z][a-z0-9+.-]{0,15}:\/\//i;

function inner(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodOptional ? inner(schema.unwrap() as z.ZodType) : schema;
}

/** What a number may be, for zod says of a word only that it is NaN; undefined for what is none. */
function numberWords(schema: z.ZodType): string | undefined {
  const number = inner(schema);
  if (!(number instanceof z.ZodNumber)) return undefined;
  const { minValue, maxValue, def } = number;
  const whole = (def.checks ?? []).some((check) => (check._zod.def as { format?: string }).format === 'safeint');
  return `has to be a ${whole ? 'whole ' : ''}number from ${minValue} to ${maxValue}`;
}

function shown(name: string, value: string): string {
  if (!SECRET.test(name)) return `given: ${JSON.stringify(value.length > MOST_SHOWN ? `${value.slice(0, MOST_SHOWN)}…` : value)}`;
  const scheme = SCHEME.exec(value)?.[0];
  return scheme === undefined ? 'given: something without a scheme' : `given: ${scheme}…`;
}

/** The line about a variable: what it may be, and what it is, without what may be secret. */
export function wrongValue(name: string, schema: z.ZodType | undefined, message: string, value: string | undefined): string {
  const allowed = (schema === undefined ? undefined : numberWords(schema)) ?? message;
  return `${name}: ${allowed}${value === undefined ? '' : ` (${shown(name, value)})`}`;
}
