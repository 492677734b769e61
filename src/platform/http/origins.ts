/**
 * Cross-origin rules. Loopback pages, configured origins and the service's own pages are served; a page from
 * elsewhere may not mutate. A request without Origin does not come from a page and is not judged here.
 */
const LOOPBACK_ORIGIN = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/** Sent to an allowed origin, on preflights and on real answers alike. */
export const CORS_HEADERS: readonly (readonly [string, string])[] = [
  ['access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE, OPTIONS'],
  ['access-control-allow-headers', 'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-SVC-Request'],
  [
    'access-control-expose-headers',
    'X-SVC-Index, X-SVC-Cache-Age-S, X-SVC-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Location, ETag',
  ],
];

export class OriginPolicy {
  readonly #configured: ReadonlySet<string>;

  constructor(allowed: readonly string[]) {
    this.#configured = new Set(allowed);
  }

  /** `host` is the Host header of the same request, already allowed: the service's own pages are no strangers. */
  allows(origin: string, host: string | undefined): boolean {
    if (LOOPBACK_ORIGIN.test(origin) || this.#configured.has(origin)) return true;
    return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`);
  }
}
