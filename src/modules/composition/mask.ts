/** What stands for a value that must not be shown. */
export const MASK = '********';

const SECRET_KEYS = new Set(['api_key', 'auth_token', 'token', 'password', 'secret']);
/** A reference such as `$GATEWAY_TOKEN` names a secret and is none. */
const REFERENCE = /^\$\{?[A-Za-z_][A-Za-z0-9_]*\}?$/;
/**
 * Up to the last `@` of what stands where a host does: passwords are often written as they are, also with an `@` or a `/`
 * in them. Every part is bounded, so that a long text takes time in proportion to its length.
 */
const USER_INFO = /:\/\/(?:[^/\s]+|[^\s/:@[]{0,256}:(?!\d{1,5}(?:[/?#\s]|$))[^\s@]{0,256})@/g;

/**
 * A copy of plain configuration values that may be shown: values of environment entries, keys and tokens are masked,
 * and user info in URLs. `key` is the name that the value stands under.
 */
export function masked<T>(value: T, key = ''): T {
  return mask(value, key, false) as T;
}

function mask(value: unknown, key: string, secret: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => mask(item, key, secret));
  if (typeof value === 'object' && value !== null) {
    const inside = secret || key === 'env';
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mask(member, name, inside)]));
  }
  if (secret) return MASK;
  if (typeof value !== 'string') return value;
  if (SECRET_KEYS.has(key) && value !== '' && !REFERENCE.test(value)) return MASK;
  return value.includes('://') ? value.replace(USER_INFO, `://${MASK}@`) : value;
}

/** True when the leaf under a dotted path, such as `agents[0].env.DEBUG`, must not be shown. */
export function isSecretPath(path: string): boolean {
  return /(^|[.\]])env(\.|$)/.test(path);
}
