import { z } from 'zod';
import { RIGHTS } from '../../../contract/principal.js';
import { queryInt, queryText } from '../../../contract/query.js';
import { contract } from '../../../contract/registry.js';
import { CITY_NAME_MAX, CITY_NAME_PATTERN, dateTime, int64 } from '../../../contract/scalars.js';

const MAX_GRACE_S = 30 * 24 * 3_600;

const cityName = z.string().max(CITY_NAME_MAX).regex(CITY_NAME_PATTERN);
const ApiKeyScope = z.enum(['read', 'write']);
const ApiKeyRight = z.enum(RIGHTS);

export const ApiKeyCreateInputBody = contract(
  'ApiKeyCreateInputBody',
  z.strictObject({
    name: z
      .string()
      .min(1)
      .max(100)
      .regex(/^[\w][\w .@-]*$/, 'letters, digits, spaces and . @ _ - only')
      .meta({ description: 'The actor of the events that the key causes; unique among keys that are not revoked.' }),
    scope: ApiKeyScope.optional().meta({ description: '`write` (the default) is every right, `read` none; absent beside `rights`.' }),
    rights: z
      .array(ApiKeyRight)
      .max(RIGHTS.length)
      .optional()
      .meta({
        description:
          'What it may change, beside reading. `operate`: sessions, messages, beads, mail, sling, suspending. `configure`: agents, rigs, ' +
          'patches, cities. `commands`: what is run: providers, variables of processes, packs, directories that are made cities. `audit`: ' +
          'reading who did what.',
      }),
    expires_at: dateTime.optional().meta({ description: 'From then on the key is refused, and what is open with it ends.' }),
    cities: z.array(cityName).min(1).max(1000).optional().meta({ description: 'Limits the key to these cities; absent means all.' }),
  }),
  'What a new key may.',
);
export type ApiKeyCreateInput = z.infer<typeof ApiKeyCreateInputBody>;

const fields = {
  id: z.string().describe('Names the key in paths and in the audit log. It is no secret.'),
  name: z.string().describe('The actor of the events that the key causes.'),
  scope: ApiKeyScope.meta({ description: '`write`: every right.' }),
  rights: z.array(ApiKeyRight).describe('What it may change, beside reading. Empty for a key that only reads.'),
  cities: z.array(z.string()).nullable(),
  created_at: dateTime,
  expires_at: dateTime.nullable().describe('From then on the key is refused. RFC 3339 in UTC; null: never.'),
};

export const ApiKeyResponse = contract(
  'ApiKeyResponse',
  z.strictObject({
    ...fields,
    last_used_at: dateTime.nullable().describe('When it was used last, to the minute. RFC 3339 in UTC; null when it never was.'),
  }),
  'A key, without its secret.',
);
export type ApiKeyResponse = z.infer<typeof ApiKeyResponse>;

export const ApiKeyCreatedResponse = contract(
  'ApiKeyCreatedResponse',
  z.strictObject({ ...fields, key: z.string().meta({ description: 'The key itself. Shown once, stored only as a hash.' }) }),
  'A new key, with its secret.',
);
export type ApiKeyCreatedResponse = z.infer<typeof ApiKeyCreatedResponse>;

export const ApiKeyRotateInputBody = contract(
  'ApiKeyRotateInputBody',
  z.strictObject({
    grace_seconds: z
      .int()
      .min(0)
      .max(MAX_GRACE_S)
      .default(3_600)
      .meta({ description: 'For how long the secret before is good, too; 0 ends all before.' }),
  }),
  'How long the secret before is good, too.',
);
export type ApiKeyRotateInput = z.infer<typeof ApiKeyRotateInputBody>;

export const ApiKeyRotatedResponse = contract(
  'ApiKeyRotatedResponse',
  z.strictObject({
    ...fields,
    key: z.string().meta({ description: 'The key with its new secret. Shown once, stored only as a hash.' }),
    previous_until: dateTime.nullable().meta({ description: 'Until then the secret before is good; null when it is not any more.' }),
  }),
  'A key with its new secret.',
);
export type ApiKeyRotatedResponse = z.infer<typeof ApiKeyRotatedResponse>;

export const ListBodyApiKeyResponse = contract(
  'ListBodyApiKeyResponse',
  z.strictObject({ items: z.array(ApiKeyResponse).nullable(), total: int64, next_cursor: z.string().optional() }),
  'A page of keys.',
);
export type ListBodyApiKeyResponse = z.infer<typeof ListBodyApiKeyResponse>;

const LISTED = 10_000;
/** A page goes on behind the key that its cursor names, revoked or not. */
export const KeysQuery = z.strictObject({
  limit: queryInt({ min: 1, max: LISTED, default: LISTED }),
  cursor: queryText({ max: 64 }),
});
export type KeysQuery = z.infer<typeof KeysQuery>;

export const ApiKeyId = z
  .string()
  .regex(/^[0-9a-f]{12}$/, 'not the id of a key')
  .describe('The id of the key.');
