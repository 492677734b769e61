import { types } from 'node:util';

/**
 * Jest runs a test file in a realm of its own, while Node's errors (ENOENT, ECONNREFUSED …) belong to the outer one:
 * `error instanceof Error` would be false here and true in production. This makes it true in both.
 */
const ordinary = Function.prototype[Symbol.hasInstance];
Object.defineProperty(Error, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    return ordinary.call(this as () => unknown, value) || (this === Error && types.isNativeError(value));
  },
});
