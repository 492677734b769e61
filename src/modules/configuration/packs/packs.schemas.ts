import { z } from 'zod';
import { contract } from '../../../contract/registry.js';
import { text } from '../../../contract/scalars.js';

/** `default-rig:<binding>` for an import that new rigs get. */
export const PackResponse = contract(
  'PackResponse',
  z.strictObject({
    name: z.string(),
    source: z.string().optional(),
    version: z.string().optional().describe('The version that is wanted, as written.'),
    pack: z.string().optional().describe('The name that the pack gives itself.'),
    pack_version: z.string().optional().describe('The version that the pack gives itself.'),
    description: z.string().optional(),
    resolved_version: z.string().optional().describe('The tag that the version came to.'),
    commit: z.string().optional(),
  }),
  'An import. `name` is its binding, `version` the constraint as written; `pack` and `pack_version` are what the pack calls itself, `resolved_version` and `commit` the pin of a repository.',
);
export type PackResponse = z.infer<typeof PackResponse>;
export const PackListBody = contract(
  'PackListBody',
  z.strictObject({
    packs: z.array(PackResponse).nullable().describe('The imports. Null is the same as none.'),
    next_cursor: z.string().optional(),
  }),
  'The imports of a city.',
);
export type PackListBody = z.infer<typeof PackListBody>;

export const PackAddInputBody = contract(
  'PackAddInputBody',
  z.strictObject({
    source: text
      .min(1)
      .max(2_000)
      .describe('A directory in the city, or a repository: an https, ssh or git address, with `//<path>` for a part of it.'),
    name: text.max(100).optional().describe('The binding: what it is called in the city. Absent: the last part of the source.'),
    version: text
      .max(256)
      .optional()
      .describe('The version that is wanted: a tag, a branch, a commit or a range such as `^1.2`. Absent: the newest.'),
  }),
  'A new import.',
);
export type PackAddInputBody = z.infer<typeof PackAddInputBody>;
export const PackAddedOutputBody = contract(
  'PackAddedOutputBody',
  z.strictObject({
    name: z.string(),
    source: z.string(),
    version: z.string().optional().describe('The version that is wanted.'),
    git_backed: z.boolean().describe('True for a repository, false for a directory.'),
  }),
  'The import is in the files.',
);
export type PackAddedOutputBody = z.infer<typeof PackAddedOutputBody>;
export const PackRemovedOutputBody = contract(
  'PackRemovedOutputBody',
  z.strictObject({ name: z.string() }),
  'The import is out of the files.',
);
export type PackRemovedOutputBody = z.infer<typeof PackRemovedOutputBody>;

export const PackPin = contract(
  'PackPin',
  z.strictObject({
    source: z.string(),
    version: z.string().optional().describe('The version that is wanted.'),
    commit: z.string(),
    fetched: z.string().describe('When it was fetched. RFC 3339 in UTC.'),
  }),
  'What packs.lock says about a repository.',
);
export const PackInstallBody = contract(
  'PackInstallBody',
  z.strictObject({
    changed: z.boolean().describe('Whether `packs.lock` is another one now.'),
    pins: z.array(PackPin).describe('What `packs.lock` says now.'),
  }),
  'What was fetched.',
);
export type PackInstallBody = z.infer<typeof PackInstallBody>;

export const PackNameParam = z.string().min(1).max(256).describe('The binding of the import.');
