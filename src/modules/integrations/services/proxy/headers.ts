import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { ADAPTER_TOKEN_PREFIX, COMMAND_TOKEN_PREFIX, KEY_PREFIX, SESSION_TOKEN_PREFIX } from '../../../../platform/http/authenticator.js';
import { forNextHop } from '../../../../platform/outgoing/next-hop.js';

/** Who sends a request, and how: what the client says of it is not true, and nobody here says it again. */
const FORWARDED = /^(forwarded|x-forwarded-.*|x-real-ip)$/;
const OURS = /^x-svc-/;
/** Keys, and tokens of sessions, commands and adapters. */
const CREDENTIAL = new RegExp(
  `(?:^|[^\\w-])(?:${[KEY_PREFIX, SESSION_TOKEN_PREFIX, COMMAND_TOKEN_PREFIX, ADAPTER_TOKEN_PREFIX].join('|')})`,
  'i',
);

/** Of these the first counts where one is said more than once; of all others, but for cookies, the list of them. So Node has it. */
const SINGLE = new Set(
  (
    'age authorization content-length content-type etag expires from host if-modified-since if-unmodified-since last-modified location ' +
    'max-forwards proxy-authorization referer retry-after server user-agent'
  ).split(' '),
);

/** Headers as undici has them, who leaves those that are said more than once as they came, in the form that Node gives them. */
export function combined(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (Array.isArray(value) && name !== 'set-cookie') headers[name] = SINGLE.has(name) ? value[0] : value.join(', ');
  }
  return headers;
}

/** The headers of a request as a service gets them: without those of the way here, and without credentials of ours. */
export function forService(headers: IncomingHttpHeaders, requestId: string): IncomingHttpHeaders {
  const stays = forNextHop(headers);
  const kept: IncomingHttpHeaders = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value === undefined || stays(name) || FORWARDED.test(name) || OURS.test(name)) continue;
    if (name === 'authorization' && CREDENTIAL.test(String(value))) continue;
    kept[name] = value;
  }
  kept.host = 'service';
  kept['x-svc-request-id'] = requestId;
  return kept;
}

/** The headers of an answer as they go on: those of this process, and what the service says for itself, which counts. */
export function fromService(headers: IncomingHttpHeaders, own: Readonly<Record<string, string | number | string[]>>): OutgoingHttpHeaders {
  const stays = forNextHop(headers);
  const tellsOrigin = own['access-control-allow-origin'] !== undefined;
  const kept: OutgoingHttpHeaders = {};
  for (const name of Object.keys(own)) if (name !== 'connection') kept[name] = own[name];
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    // A script of a service must not become the worker of pages that are not its own.
    if (stays(name) || name === 'transfer-encoding' || OURS.test(name) || name === 'service-worker-allowed') continue;
    if (tellsOrigin && name.startsWith('access-control-')) continue;
    kept[name] = name === 'vary' ? `${value as string}, Origin` : value;
  }
  return kept;
}
