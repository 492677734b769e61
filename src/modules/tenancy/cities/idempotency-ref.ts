import type { Principal } from '../../../contract/principal.js';
import type { IdempotencyRef } from '../../../platform/idempotency/idempotency.js';

/**
 * The use of a key, or undefined without one. A caller limited to some cities has answers of its own: they hold a
 * cursor that shows only those.
 */
export function idempotencyRef(
  caller: Principal,
  scope: string,
  operation: string,
  key: string | undefined,
  body: unknown,
): IdempotencyRef | undefined {
  if (key === undefined) return undefined;
  return { scope, operation: caller.cities === undefined ? operation : `${operation}@${caller.keyId ?? ''}`, key, body };
}
