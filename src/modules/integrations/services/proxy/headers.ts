import type { IncomingHttpHeaders } from 'node:http';
import { ADAPTER_TOKEN_PREFIX, COMMAND_TOKEN_PREFIX, KEY_PREFIX, SESSION_TOKEN_PREFIX } from '../../../../platform/http/authenticator.js';

/** Meant for the next hop only. */
const HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'upgrade',
  'http2-settings',
  // It has been answered already.
  'expect',
]);
/** Say where the body ends: nobody may have them taken away. */
const FRAMING = new Set(['transfer-encoding', 'content-length']);
/** Who sends a request, and how: what the client says of it is not true, and nobody here says it again. */
const FORWARDED = /^(forwarded|x-forwarded-.*|x-real-ip)$/;
const OURS = /^x-svc-/;
/** Keys, and tokens of sessions, commands and adapters. */
const CREDENTIAL = new RegExp(
  `(?:^|[^\\w-])(?:${[KEY_PREFIX, SESSION_TOKEN_PREFIX, COMMAND_TOKEN_PREFIX, ADAPTER_TOKEN_PREFIX].join('|')})`,
  'i',
);

/** The headers of a request as a service gets them: without those of the way here, and without credentials of ours. */
export function forService(headers: IncomingHttpHeaders, requestId: string): IncomingHttpHeaders {
  const named = namedBy(headers.connection);
  const kept: IncomingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || HOP.has(name) || named.has(name) || FORWARDED.test(name) || OURS.test(name)) continue;
    if (name === 'authorization' && CREDENTIAL.test(String(value))) continue;
    kept[name] = value;
  }
  kept.host = 'service';
  kept['x-svc-request-id'] = requestId;
  return kept;
}

/** What of an answer's headers does not go further. They are changed in place. */
export function fromService(headers: IncomingHttpHeaders, own: Readonly<Record<string, unknown>>): void {
  const named = namedBy(headers.connection);
  for (const name of Object.keys(headers))
    // A script of a service must not become the worker of pages that are not its own.
    if (HOP.has(name) || named.has(name) || name === 'transfer-encoding' || OURS.test(name) || name === 'service-worker-allowed')
      delete headers[name];
  if (own['access-control-allow-origin'] !== undefined)
    for (const name of Object.keys(headers)) if (name.startsWith('access-control-')) delete headers[name];
  if (headers.vary !== undefined) headers.vary = `${headers.vary}, Origin`;
}

function namedBy(connection: string | undefined): ReadonlySet<string> {
  const names = (connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  return new Set(names.filter((name) => name !== '' && !FRAMING.has(name)));
}
