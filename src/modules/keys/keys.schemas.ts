import { z } from 'zod';
import { contract } from '../../contract/registry.js';
import { CITY_NAME_MAX, CITY_NAME_PATTERN, dateTime, int64 } from '../../contract/scalars.js';

const cityName = z.string().max(CITY_NAME_MAX).regex(CITY_NAME_PATTERN);
const ApiKeyScope = z.enum(['read', 'write']);

export const ApiKeyCreateInputBody = contract(
  'ApiKeyCreateInputBody',
  z.strictObject({
    name: z
      .string()
      .min(1)
      .max(100)
      .regex(/^[\w][\w .@-]*$/, 'letters, digits, spaces and . @ _ - only')
      .meta({ description: 'The actor of the events that the key causes; unique among keys that are not revoked.' }),
    scope: ApiKeyScope.default('write'),
    cities: z.array(cityName).min(1).max(1000).optional().meta({ description: 'Limits the key to these cities; absent means all.' }),
  }),
);
export type ApiKeyCreateInput = z.infer<typeof ApiKeyCreateInputBody>;

const fields = {
  id: z.string(),
  name: z.string(),
  scope: ApiKeyScope,
  cities: z.array(z.string()).nullable(),
  created_at: dateTime,
};

export const ApiKeyResponse = contract('ApiKeyResponse', z.strictObject({ ...fields, last_used_at: dateTime.nullable() }));
export type ApiKeyResponse = z.infer<typeof ApiKeyResponse>;

export const ApiKeyCreatedResponse = contract(
  'ApiKeyCreatedResponse',
  z.strictObject({ ...fields, key: z.string().meta({ description: 'The key itself. Shown once, stored only as a hash.' }) }),
);
export type ApiKeyCreatedResponse = z.infer<typeof ApiKeyCreatedResponse>;

export const ListBodyApiKeyResponse = contract(
  'ListBodyApiKeyResponse',
  z.strictObject({ items: z.array(ApiKeyResponse).nullable(), total: int64 }),
);
export type ListBodyApiKeyResponse = z.infer<typeof ListBodyApiKeyResponse>;

export const ApiKeyId = z.string().regex(/^[0-9a-f]{12}$/, 'not the id of a key');
