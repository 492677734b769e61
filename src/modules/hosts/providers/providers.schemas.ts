import { z } from 'zod';
import { contract } from '../../../contract/registry.js';
import { queryBool, queryText } from '../../../contract/query.js';

const found = {
  display_name: z.string(),
  status: z.string().describe('`configured`, `needs_auth`, `invalid_configuration`, `probe_error` or `not_installed`.'),
  detail: z.string().optional(),
  version: z.string().optional().meta({ description: 'What its program says, where it was found.' }),
  remedy: z.string().optional().meta({ description: "A command for the service's user on a worker host that mends it." }),
};

export const ReadinessItem = contract(
  'ReadinessItem',
  z.strictObject({
    kind: z.string().describe('`provider` or `tool`.'),
    name: z.string().describe('The name of the provider or the tool.'),
    ...found,
  }),
  'Whether a provider or a tool can be used.',
);
export const ReadinessResponse = contract(
  'ReadinessResponse',
  z.strictObject({ items: z.record(z.string(), ReadinessItem).describe('What was asked about, by name.') }),
  'Whether providers and tools can be used.',
);
export type ReadinessResponse = z.infer<typeof ReadinessResponse>;

export const ProviderReadiness = contract('ProviderReadiness', z.strictObject(found), 'Whether a provider can be used.');
export const ProviderReadinessResponse = contract(
  'ProviderReadinessResponse',
  z.strictObject({ providers: z.record(z.string(), ProviderReadiness) }),
  'Whether providers can be used.',
);
export type ProviderReadinessResponse = z.infer<typeof ProviderReadinessResponse>;

export const ReadinessQuery = z.strictObject({ items: queryText(), fresh: queryBool() });
export type ReadinessQuery = z.infer<typeof ReadinessQuery>;
export const ProviderReadinessQuery = z.strictObject({ providers: queryText(), fresh: queryBool() });
export type ProviderReadinessQuery = z.infer<typeof ProviderReadinessQuery>;
