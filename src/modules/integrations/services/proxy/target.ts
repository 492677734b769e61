import { problem } from '../../../../contract/problems.js';

/** What a request for a service asks for. */
export interface ServiceTarget {
  readonly city: string;
  /** '' for what no service can be called. */
  readonly service: string;
  /** Below the service, as it was written: always begins with a slash. */
  readonly path: string;
  /** With its question mark, or ''. */
  readonly query: string;
}

const ABSOLUTE = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;
/** `/v0/city/{city}/svc/{service}/…` */
const CITY = 3;
const SERVICE = 5;
/** What programs take for a dot, a slash or a backslash once they have decoded it, however often that is. */
const DECODINGS = 3;
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,127}$/;

/** @throws ProblemError bad_request for a path that leads out of the service */
export function targetOf(url: string): ServiceTarget {
  const whole = url.startsWith('/') ? url : url.replace(ABSOLUTE, '');
  const local = whole.includes('#') ? whole.slice(0, whole.indexOf('#')) : whole;
  const at = local.indexOf('?');
  const path = at === -1 ? local : local.slice(0, at);
  const query = at === -1 ? '' : local.slice(at);
  const segments = path.split('/');
  const city = decoded(segments[CITY] ?? '');
  const service = decoded(segments[SERVICE] ?? '');
  const below = segments.slice(SERVICE + 1);
  for (const segment of below) if (leadsOut(segment)) throw leavesService();
  return { city, service: NAME.test(service) ? service : '', path: `/${below.join('/')}`, query };
}

/** Whether a program could read a step up, or none, in what is one segment of the path here. */
function leadsOut(segment: string): boolean {
  // Nearly all that are asked for.
  if (!/[%;\\]/.test(segment)) return segment === '.' || segment === '..';
  let now = segment;
  for (let n = 0; n <= DECODINGS; n++) {
    // Some programs take off what follows a semicolon, and some take a backslash for a slash.
    if (now.split(/[/\\]/).some((part) => /^\.{1,2}(;|$)/.test(part))) return true;
    const next = n === 0 ? decoded(now) : again(now);
    if (next === now) return false;
    now = next;
  }
  return true;
}

/** What has been encoded twice may be anything: only what was sent has to be well-formed. */
function again(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @throws ProblemError bad_request */
function decoded(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw problem('bad_request', 'the path has a malformed percent-encoding', { at: 'path' });
  }
}

function leavesService(): Error {
  return problem('bad_request', 'the path leads out of the service', { at: 'path' });
}
