import { z } from 'zod';

/**
 * A map of at most `max` members, or `error`. They are counted before any of them is looked at: looking at ten thousands of them, and telling of
 * each that is wrong, would keep all others waiting.
 */
export function boundedMap<T extends z.ZodType>(map: T, max: number, error: string): z.ZodPreprocess<T> {
  return z.preprocess((value, context) => {
    if (!isMap(value) || Object.keys(value).length <= max) return value;
    context.addIssue(error);
    return z.NEVER;
  }, map);
}

const isMap = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);
