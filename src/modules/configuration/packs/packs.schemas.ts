import { z } from 'zod';
import { contract } from '../../../contract/registry.js';
import { text } from '../../../contract/scalars.js';

/** `default-rig:<binding>` for an import that new rigs get. */
export const PackResponse = contract(
  'PackResponse',
  z.strictObject({
    name: z.string(),
    source: z.string().optional(),
    version: z.string().optional(),
    pack: z.string().optional(),
    pack_version: z.string().optional(),
    description: z.string().optional(),
    resolved_version: z.string().optional(),
    commit: z.string().optional(),
  }),
  'An import. `name` is its binding, `version` the constraint as written; `pack` and `pack_version` are what the pack calls itself, `resolved_version` and `commit` the pin of a repository.',
);
export type PackResponse = z.infer<typeof PackResponse>;
export const PackListBody = contract(
  'PackListBody',
  z.strictObject({ packs: z.array(PackResponse).nullable(), next_cursor: z.string().optional() }),
);
export type PackListBody = z.infer<typeof PackListBody>;

export const PackAddInputBody = contract(
  'PackAddInputBody',
  z.strictObject({ source: text.min(1).max(2_000), name: text.max(100).optional(), version: text.max(256).optional() }),
);
export type PackAddInputBody = z.infer<typeof PackAddInputBody>;
export const PackAddedOutputBody = contract(
  'PackAddedOutputBody',
  z.strictObject({ name: z.string(), source: z.string(), version: z.string().optional(), git_backed: z.boolean() }),
);
export type PackAddedOutputBody = z.infer<typeof PackAddedOutputBody>;
export const PackRemovedOutputBody = contract('PackRemovedOutputBody', z.strictObject({ name: z.string() }));
export type PackRemovedOutputBody = z.infer<typeof PackRemovedOutputBody>;

export const PackPin = contract(
  'PackPin',
  z.strictObject({ source: z.string(), version: z.string().optional(), commit: z.string(), fetched: z.string() }),
  'What packs.lock says about a repository.',
);
export const PackInstallBody = contract('PackInstallBody', z.strictObject({ changed: z.boolean(), pins: z.array(PackPin) }));
export type PackInstallBody = z.infer<typeof PackInstallBody>;

export const PackNameParam = z.string().min(1).max(256);
