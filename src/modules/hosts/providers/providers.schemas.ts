import { z } from 'zod';
import { contract } from '../../../contract/registry.js';
import { queryBool, queryText } from '../../../contract/query.js';

const found = {
  display_name: z.string(),
  status: z.string(),
  detail: z.string().optional(),
  version: z.string().optional().meta({ description: 'What its program says, where it was found.' }),
  remedy: z.string().optional().meta({ description: "A command for the service's user on a worker host that mends it." }),
};

export const ReadinessItem = contract('ReadinessItem', z.strictObject({ kind: z.string(), name: z.string(), ...found }));
export const ReadinessResponse = contract('ReadinessResponse', z.strictObject({ items: z.record(z.string(), ReadinessItem) }));
export type ReadinessResponse = z.infer<typeof ReadinessResponse>;

export const ProviderReadiness = contract('ProviderReadiness', z.strictObject(found));
export const ProviderReadinessResponse = contract(
  'ProviderReadinessResponse',
  z.strictObject({ providers: z.record(z.string(), ProviderReadiness) }),
);
export type ProviderReadinessResponse = z.infer<typeof ProviderReadinessResponse>;

export const ReadinessQuery = z.strictObject({ items: queryText(), fresh: queryBool() });
export type ReadinessQuery = z.infer<typeof ReadinessQuery>;
export const ProviderReadinessQuery = z.strictObject({ providers: queryText(), fresh: queryBool() });
export type ProviderReadinessQuery = z.infer<typeof ProviderReadinessQuery>;
