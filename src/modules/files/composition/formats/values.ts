import { z } from 'zod';
import { readSchedule } from './cron.js';
import { DURATION_PATTERN, parseDuration } from '../../../../contract/duration.js';

/** What an issue of a schema says beside its text. */
export interface IssueTraits {
  /** A warning leaves the value out, so that the default applies. */
  readonly severity?: 'warning';
  /** The value stays: what is wrong is how keys of a table stand to each other. */
  readonly keep?: true;
  readonly accepted?: readonly string[];
}

/**
 * What a key is for, as the reference and editors show it. @param fallback what holds where the key is absent, when that is one value
 * @example key(flag, 'Keeps the agent from being started.', false)
 */
export function key<T extends z.ZodType>(schema: T, description: string, fallback?: unknown): T {
  return schema.meta({ description, ...(fallback === undefined ? {} : { default: fallback }) });
}

/** A key that other implementations of these files read: it is checked, and nothing here depends on it. */
export function idle<T extends z.ZodType>(schema: T, description: string): T {
  return schema.meta({ description: `${description} Accepted, and without effect here.`, idle: true });
}

/** A key that goes by another name now. */
export function former<T extends z.ZodType>(schema: T, now: string): T {
  return schema.meta({ description: `The old name of \`${now}\`, with a warning.`, deprecated: true });
}

export const text = z.string();
export const filled = z.string().min(1);
export const flag = z.boolean();
export const texts = z.array(z.string());
export const map = z.record(z.string(), z.string());
/** Variables of a process. */
export const env = z.record(z.string().regex(/^[^=]+$/, 'must not be empty or contain ='), z.string());
export const count = z.int().min(0);
export const port = z.int().min(0).max(65_535);
/** -1 stands for no limit. */
export const limit = z.int().min(-1);

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_-]*$/;
/** Names of agents, providers and bindings; 128 is far beyond what anybody types and keeps rows small. */
export const name = z.string().max(128).regex(NAME, `must match ${NAME.source}`);

/** Told here, so that no schedule is found out to be none when its time would have come. */
export const schedule = filled
  .superRefine((written, context) => {
    const read = readSchedule(written);
    if (typeof read === 'string') context.addIssue({ code: 'custom', message: read });
  })
  .meta({ pattern: '^\\s*([\\w*/,-]+\\s+){4}[\\w*/,-]+\\s*$' });

/** A table with exactly these keys; those of `required` may not be missing. */
export function table<O extends z.ZodRawShape, R extends z.ZodRawShape>(optional: O, required?: R) {
  const shape: Record<string, z.core.SomeType> = { ...required };
  for (const [key, schema] of Object.entries(optional)) shape[key] = z.optional(schema);
  return z.strictObject(shape);
}

/** Any table: its keys belong to somebody else. */
export const loose = z.looseObject({});

export function listOf<T extends z.ZodType>(item: T) {
  return z.array(item);
}

/** Tables under names of the owner's choice. */
export function named<T extends z.ZodType>(value: T, key: z.ZodType<string, string> = name) {
  return z.record(key, value);
}

export function oneOf<const T extends readonly [string, ...string[]]>(...values: T) {
  return z.enum(values);
}

/** How durations look to a JSON Schema, which knows no functions. */
const DURATION = { pattern: DURATION_PATTERN };

/** A duration as text. One that cannot be read, or is negative, is a warning, and the default applies. */
export const duration = z
  .string()
  .refine((written) => (parseDuration(written) ?? -1) >= 0, {
    message: 'is not a duration such as 90s or 1h30m; the default applies',
    params: { severity: 'warning' } satisfies IssueTraits,
  })
  .meta(DURATION);

/** A duration without which its table is nothing. */
export const time = z
  .string()
  .refine((written) => (parseDuration(written) ?? 0) > 0, 'must be a positive duration such as 90s or 1h30m')
  .meta(DURATION);

/** A duration below which the default applies, as it does for one that cannot be read. */
export function atLeast(shortest: string) {
  return duration.refine((written) => (parseDuration(written) ?? Infinity) >= parseDuration(shortest)!, {
    message: `must be at least ${shortest}; the default applies`,
    params: { severity: 'warning' } satisfies IssueTraits,
  });
}

/** A duration that may be shorter than is wise. */
export function advised(shortest: string) {
  return duration.refine((written) => (parseDuration(written) ?? Infinity) >= parseDuration(shortest)!, {
    message: `is shorter than ${shortest}`,
    params: { severity: 'warning', keep: true } satisfies IssueTraits,
  });
}

/** A duration whose sign matters enough to refuse the file. */
export const durationOfDolt = z
  .string()
  .refine((written) => (parseDuration(written) ?? 0) >= 0, { message: 'must not be negative', abort: true })
  .refine((written) => parseDuration(written) !== undefined, {
    message: 'is not a duration such as 90s or 1h30m; the default applies',
    params: { severity: 'warning' } satisfies IssueTraits,
  })
  .meta(DURATION);

/** How long something is kept: not at all is refused. */
export const retention = z
  .string()
  .refine((written) => (parseDuration(written) ?? 1) > 0, { message: 'must be longer than nothing', abort: true })
  .refine((written) => parseDuration(written) !== undefined, {
    message: 'is not a duration such as 12h or 7d; the default applies',
    params: { severity: 'warning' } satisfies IssueTraits,
  })
  .meta(DURATION);

export const durationOrOff = z
  .string()
  .refine((written) => written === 'off' || (parseDuration(written) ?? -1) >= 0, {
    message: 'is neither a duration such as 90s nor off; the default applies',
    params: { severity: 'warning' } satisfies IssueTraits,
  })
  .meta({ pattern: `^off$|${DURATION.pattern}` });

/**
 * A rule about keys of one table that stand to each other. It is asked whatever else is wrong with the table, so the
 * members it looks at may be of any type. @param key the key that the issue is about
 */
export function rule<T extends z.ZodType>(
  schema: T,
  key: string,
  message: string,
  holds: (members: Readonly<Record<string, unknown>>) => boolean,
): T {
  return schema.refine((value) => !isMembers(value) || holds(value), {
    path: [key],
    message,
    params: { keep: true } satisfies IssueTraits,
    when: () => true,
  });
}

function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** A key that another place has: `message` says which. */
export function forbidden(message: string) {
  return z.custom((value) => value === undefined, message).meta({ description: `Refused: ${message}.`, not: {}, refused: true });
}

export const zone = z.string().refine(isZone, 'is not a time zone such as Europe/Vienna');

function isZone(written: string): boolean {
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: written }).resolvedOptions();
    // Node has kept these of old; the database, which tells what was used today, has not.
    return !timeZone.startsWith('SystemV/');
  } catch {
    return false;
  }
}
