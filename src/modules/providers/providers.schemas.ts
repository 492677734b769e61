import { z } from 'zod';
import { contract } from '../../contract/registry.js';
import { queryBool, queryText } from '../../contract/query.js';

export const ReadinessItem = contract(
  'ReadinessItem',
  z.strictObject({ display_name: z.string(), kind: z.string(), name: z.string(), status: z.string(), detail: z.string().optional() }),
);
export const ReadinessResponse = contract('ReadinessResponse', z.strictObject({ items: z.record(z.string(), ReadinessItem) }));
export type ReadinessResponse = z.infer<typeof ReadinessResponse>;

export const ProviderReadiness = contract(
  'ProviderReadiness',
  z.strictObject({ display_name: z.string(), status: z.string(), detail: z.string().optional() }),
);
export const ProviderReadinessResponse = contract(
  'ProviderReadinessResponse',
  z.strictObject({ providers: z.record(z.string(), ProviderReadiness) }),
);
export type ProviderReadinessResponse = z.infer<typeof ProviderReadinessResponse>;

export const ReadinessQuery = z.strictObject({ items: queryText(), fresh: queryBool() });
export type ReadinessQuery = z.infer<typeof ReadinessQuery>;
export const ProviderReadinessQuery = z.strictObject({ providers: queryText(), fresh: queryBool() });
export type ProviderReadinessQuery = z.infer<typeof ProviderReadinessQuery>;
