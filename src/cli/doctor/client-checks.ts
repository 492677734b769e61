import { statSync } from 'node:fs';
import { VERSION } from '../../contract/version.js';
import type { Api, Schemas } from '../api.js';
import { showDuration } from '../duration.js';
import { failed, ok, warning, type Found } from './finding.js';

type Info = Schemas['SupervisorInfo'];

const PINNED_MAJOR = 24;
const OLDEST_MAJOR = 20;
const CLOCK_MS = 5_000;
const CLOCK_FAILED_MS = 60_000;
const EXPIRY_MS = 14 * 24 * 3_600_000;

/** What runs this command. */
export function node(version = process.version): Found {
  const major = Number(/^v(\d+)/.exec(version)?.[1]);
  const said = `svc ${VERSION} on Node ${version}`;
  if (major < OLDEST_MAJOR)
    return failed('node', `${said}: it needs Node ${OLDEST_MAJOR}, a server Node ${PINNED_MAJOR}`, `nvm install ${PINNED_MAJOR}`);
  return ok('node', major < PINNED_MAJOR ? `${said}; a server brings its own Node ${PINNED_MAJOR}` : said);
}

export function versions(server: string): Found {
  if (server === VERSION) return ok('version', `client and server are ${VERSION}`);
  return warning(
    'version',
    `the client is ${VERSION}, the server ${server}: it may not know what the other does`,
    `git checkout v${server} && npm ci`,
  );
}

/** @param aheadMs the clock of the server less the one of this machine */
export function clock(aheadMs: number): Found {
  const apart = Math.abs(aheadMs);
  if (apart < CLOCK_MS) return ok('clock', `as the server's, within ${CLOCK_MS / 1_000}s`);
  const side = aheadMs > 0 ? 'behind' : 'ahead of';
  const said = `this machine is ${showDuration(apart)} ${side} the server: ages, --since and the ends of keys and certificates are off`;
  return (apart < CLOCK_FAILED_MS ? warning : failed)('clock', said, 'timedatectl set-ntp true');
}

/** Who one is to the server, and for how long. */
export function key({ keySource }: Api, { auth, caller }: Info, now: number): Found {
  const from = keySource === undefined ? '' : `, from ${keySource.file ?? keySource.name}`;
  if (caller.kind === 'anybody') {
    const unused = keySource === undefined ? '' : ` (the one${from} is not looked at)`;
    return ok('key', auth === 'off' ? `none is needed${unused}: everybody may do everything` : `none${unused}`);
  }
  const rights = caller.rights ?? [];
  const what = rights.length === 0 ? 'may read' : `may read, and ${rights.join(', ')}`;
  const where = caller.cities === null ? 'all cities' : (caller.cities ?? []).join(', ') || 'no city';
  const said = `${caller.kind === 'session' ? 'session' : 'key'} ${caller.name}${caller.id === undefined ? '' : ` (${caller.id})`}${from}: ${what}, in ${where}`;
  if (caller.expires_at === null) return ok('key', said);
  const left = Date.parse(caller.expires_at) - now;
  const ends = `${said}; it ends ${caller.expires_at}`;
  if (left > EXPIRY_MS) return ok('key', ends);
  return warning('key', `${ends}, in ${showDuration(Math.max(0, left))}`, replacement(caller));
}

function replacement({ name, rights, cities }: Info['caller']): string {
  const scopes = (rights ?? []).join(' ') || 'read';
  const of = (cities ?? []).map((city) => ` --city ${city}`).join('');
  return `svc key create --name ${name}-next --scope ${scopes}${of} --expires 90d`;
}

/** A file with a key is its owner's. Undefined where there is none, or all is well. */
export function keyFile({ keySource }: Api): Found | undefined {
  const file = keySource?.file;
  if (file === undefined) return undefined;
  const { mode } = statSync(file);
  if ((mode & 0o077) === 0) return undefined;
  return warning('key file', `${file} can be read by others of this machine`, `chmod 600 ${file}`);
}
