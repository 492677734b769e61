import { z } from 'zod';
import type { Format } from './format.js';
import { filled, named, table, text } from './values.js';

const commit = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/, 'must be the whole id of a commit');
const instant = z
  .string()
  .refine((written) => z.iso.datetime().safeParse(written).success, 'must be a time in UTC such as 2026-01-15T10:00:00Z');

/** `packs.lock`: the pinned version of every remote pack, by source. */
export const LOCK_FORMAT: Format = {
  schema: table({ packs: named(table({ version: text, fetched: instant }, { commit }), filled) }, { schema: z.literal(1) }),
  unknown: 'warning',
};
