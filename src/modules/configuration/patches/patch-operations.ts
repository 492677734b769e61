import { PatchNameParam } from './patches.schemas.js';

/** What the operations of all kinds have in common. */
export const NAME = { schema: PatchNameParam };
export const READ = { tag: 'patches', headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S', 'ETag'] } as const;
export const WRITTEN = { ...READ, headers: ['X-SVC-Index', 'ETag'] } as const;
export const REFUSED = [
  'city_not_found',
  'conflict',
  'wrong_state',
  'revision_mismatch',
  'validation_failed',
  'dependency_missing',
  'unavailable',
] as const;
export const PUT =
  'What the body can say of a stored patch is replaced: absent and null members are taken out. What it cannot say, the files may have said, and it stays. An environment value that is masked means the stored one.';
