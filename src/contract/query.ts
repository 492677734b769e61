import { z } from 'zod';
import { parseDuration } from './duration.js';
import { CITY_NAME_MAX, CITY_NAME_PATTERN } from './scalars.js';

/**
 * Schemas of query parameters. A query arrives as text; these turn it into values and still document the value's
 * type. An empty value (`?limit=`) counts as not given. Put them into a `z.strictObject`, so that an unknown
 * parameter is refused.
 *
 * @example const ListQuery = z.strictObject({ limit: queryInt({ min: 0, max: 1000, default: 100 }), type: queryText() });
 */

const INTEGER = /^[+-]?\d{1,15}$/;

function toInteger(value: unknown): unknown {
  return typeof value === 'string' && INTEGER.test(value) ? Number(value) : value;
}

function toBoolean(value: unknown): unknown {
  if (value === 'true' || value === '1') return true;
  if (value === 'false' || value === '0') return false;
  return value;
}

/** Nothing is made of what is beyond one item too many, which is enough to refuse it. */
function toList(value: unknown, max: number): unknown {
  const parts = Array.isArray(value) ? (value as unknown[]) : [value];
  if (!parts.every((part) => typeof part === 'string')) return value;
  const items: string[] = [];
  for (const part of parts) {
    if (items.length > max) break;
    for (const item of part.split(',', max + 1 - items.length)) items.push(item.trim());
  }
  return items;
}

function bounds(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}

interface IntOptions {
  readonly min?: number;
  readonly max?: number;
}

function int({ min, max }: IntOptions): z.ZodPreprocess<z.ZodInt> {
  // One text for all that a number can be amiss: which numbers it may be.
  let schema = z.int(`must be an integer${bounds(min, max)}`);
  if (min !== undefined) schema = schema.min(min);
  if (max !== undefined) schema = schema.max(max);
  return z.preprocess(toInteger, schema) as z.ZodPreprocess<z.ZodInt>;
}

/** A decimal integer; with `default` it is always present in the result. */
export function queryInt(options: IntOptions & { default: number }): z.ZodDefault<z.ZodPreprocess<z.ZodInt>>;
export function queryInt(options?: IntOptions): z.ZodOptional<z.ZodPreprocess<z.ZodInt>>;
export function queryInt(options: IntOptions & { default?: number } = {}): z.ZodType<number | undefined> {
  return options.default === undefined ? int(options).optional() : int(options).default(options.default);
}

/** `true`, `false`, `1` or `0`; absent means false. */
export function queryBool(): z.ZodDefault<z.ZodPreprocess<z.ZodBoolean>> {
  return (z.preprocess(toBoolean, z.boolean('must be true or false')) as z.ZodPreprocess<z.ZodBoolean>).default(false);
}

/** `true`, `false`, `1` or `0`; absent stays absent, where that means neither. */
export function queryFlag(): z.ZodOptional<z.ZodPreprocess<z.ZodBoolean>> {
  return (z.preprocess(toBoolean, z.boolean('must be true or false')) as z.ZodPreprocess<z.ZodBoolean>).optional();
}

/** Comma-separated, also repeated; items are trimmed and keep their order. Bounded, so that a query cannot grow without limit; `each` bounds an item. */
export function queryList({ max = 1000, each }: { max?: number; each?: number } = {}): z.ZodOptional<
  z.ZodPreprocess<z.ZodArray<z.ZodString>>
> {
  const item = each === undefined ? z.string() : z.string().max(each);
  const list = z.preprocess((value) => toList(value, max), z.array(item).max(max));
  return (list as z.ZodPreprocess<z.ZodArray<z.ZodString>>).optional();
}

/** A text that is given once; one that is too long, or of another form, is told so. */
export function onceText(): z.ZodString {
  // Words that a schema is given as they are would stand for those of its checks, too.
  return z.string({ error: ({ code }) => (code === 'invalid_type' ? 'must be given once' : undefined) });
}

/** `form` says in words what `pattern` does: nobody is answered a regular expression. */
type TextForm = { pattern?: undefined; form?: undefined } | { pattern: RegExp; form: string };

/** One text value; given twice it is refused. */
export function queryText({ max = 4096, pattern, form }: { max?: number } & TextForm = {}): z.ZodOptional<z.ZodString> {
  const text = onceText().max(max);
  return (pattern === undefined ? text : text.regex(pattern, form)).optional();
}

/** A page of cities goes on behind the name that its cursor is. */
export function cityCursor(): z.ZodOptional<z.ZodString> {
  return queryText({ max: CITY_NAME_MAX, pattern: CITY_NAME_PATTERN, form: 'must be the name of a city' });
}

/** One of the given words. */
export function queryEnum<const T extends readonly [string, ...string[]]>(values: T): z.ZodOptional<z.ZodEnum<{ [K in T[number]]: K }>> {
  return z.enum(values).optional() as z.ZodOptional<z.ZodEnum<{ [K in T[number]]: K }>>;
}

/** Parameters of a list whose pages end by bytes; without `limit` by nothing else. */
export const listPage = { limit: queryInt({ min: 1, max: 10_000 }), cursor: queryText({ max: 64 }) };
export interface ListPage {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}
export const ListPageQuery = z.strictObject(listPage);

/** Parameters of a read that can wait: `index` until the city's log is above this position, `wait` at most this long (30s, up to 5m). */
export const blockingRead = {
  index: queryText({ pattern: /^\d{1,15}$/, form: 'must be a position, which is a whole number' }),
  wait: queryText().refine((v) => v === undefined || (parseDuration(v) ?? 0) > 0, 'must be a positive duration such as 30s'),
};
export interface BlockingRead {
  readonly index?: string | undefined;
  readonly wait?: string | undefined;
}
