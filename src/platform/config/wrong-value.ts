import { z } from 'zod';

/** A word or a number. Whatever may be a key, a password or an address with one has other characters, or more of them. */
const HARMLESS = /^[a-z0-9.+-]{0,20}$/i;
/** A mistyped address cannot be taken apart, so nothing behind its scheme is shown; of headers nothing at all. */
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

/** What may be shown of a value; undefined for nothing. */
function shown(name: string, value: string): string | undefined {
  if (!SECRET.test(name)) return HARMLESS.test(value) ? `given: ${JSON.stringify(value)}` : undefined;
  const scheme = SCHEME.exec(value)?.[0];
  return scheme === undefined ? 'given: something without a scheme' : `given: ${scheme}…`;
}

/** The line about a variable: what it may be, and what it is, without what may be secret. */
export function wrongValue(name: string, schema: z.ZodType | undefined, message: string, value: string | undefined): string {
  const allowed = (schema === undefined ? undefined : numberWords(schema)) ?? message;
  const given = value === undefined ? undefined : shown(name, value);
  return `${name}: ${allowed}${given === undefined ? '' : ` (${given})`}`;
}
