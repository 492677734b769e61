/** Where a pack comes from, as an import names it. */
export type PackSource = LocalSource | BuiltinSource | RepositorySource;

export interface LocalSource {
  readonly kind: 'local';
  /** Relative to what imports it, or absolute. */
  readonly path: string;
}

/** Shipped with the project. */
export interface BuiltinSource {
  readonly kind: 'builtin';
  readonly id: string;
  readonly name: string;
}

export interface RepositorySource {
  readonly kind: 'repository';
  /** One spelling for all that mean the same: also the key in the lock. */
  readonly id: string;
  /** What git is given. */
  readonly url: string;
  readonly transport: 'https' | 'http' | 'ssh' | 'file';
  /** '' for a file URL. */
  readonly host: string;
  /** The port when it is not the transport's own. */
  readonly port: number | undefined;
  /** The directory of the pack in the repository; '' for its root. */
  readonly folder: string;
  /** A branch, a tag or a commit. */
  readonly ref: string | undefined;
}

/** A source that cannot be one; the message never repeats the source, which may hold a password. */
export class InvalidSource extends Error {
  override readonly name = 'InvalidSource';
}

const MAX_LENGTH = 2_000;
const BUILTIN_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const SCP_LIKE = /^([A-Za-z0-9._-]+)@([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):(.+)$/;
const PART = /^[A-Za-z0-9._~@%+=,-]+$/;
/** As git has it, without what a shell or an option parser could take for its own. */
const REF = /^[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}$/;
const HOST = /^([a-z0-9_]([a-z0-9._-]*[a-z0-9_.])?|\[[0-9a-f:.]+\])$/;
const PORTS = { https: 443, http: 80, ssh: 22 } as const;
const OTHER_USER = 'it names a user; only git@ is taken, and another one is user of [[git.credentials]] in host.toml of the host';
const HOSTED = 'github.com';

/** @throws InvalidSource in words for who wrote it. */
export function parseSource(source: string): PackSource {
  const given = source.trim();
  if (given === '') throw new InvalidSource('it is empty');
  if (given.length > MAX_LENGTH) throw new InvalidSource(`it is longer than ${MAX_LENGTH} characters`);
  if (/\p{Cc}/u.test(given) || !given.isWellFormed()) throw new InvalidSource('it has characters that no source can have');
  if (given.startsWith('builtin:')) return builtin(given.slice('builtin:'.length));
  if (given.startsWith(`${HOSTED}/`)) return fromUrl(`https://${given}`);
  const scp = SCP_LIKE.exec(given);
  if (scp !== null && !given.includes('://')) return fromScp(scp[1]!, scp[2]!, scp[3]!);
  if (given.includes('://')) return fromUrl(given);
  if (given.includes(':')) throw new InvalidSource('it is neither a path nor the URL of a repository');
  if (given.includes('\\')) throw new InvalidSource('paths are written with "/"');
  return { kind: 'local', path: given };
}

function builtin(name: string): BuiltinSource {
  if (!BUILTIN_NAME.test(name)) throw new InvalidSource('"builtin:" is followed by the name of a pack that is shipped');
  return { kind: 'builtin', id: `builtin:${name}`, name };
}

function fromScp(user: string, host: string, rest: string): RepositorySource {
  if (user !== 'git') throw new InvalidSource(OTHER_USER);
  const [address, folder, ref] = split(rest.startsWith('/') ? rest.slice(1) : rest);
  return repository('ssh', hostOf('ssh', host).host, undefined, address, folder, ref);
}

function fromUrl(given: string): RepositorySource {
  const scheme = given.slice(0, given.indexOf('://')).toLowerCase();
  if (scheme !== 'https' && scheme !== 'http' && scheme !== 'ssh' && scheme !== 'file')
    throw new InvalidSource('of URLs, https, http, ssh and file are taken');
  const rest = given.slice(scheme.length + '://'.length);
  const slash = rest.indexOf('/');
  if (slash === -1) throw new InvalidSource('the URL names no repository');
  const authority = rest.slice(0, slash);
  const [address, folder, ref] = split(rest.slice(slash + 1));
  if (scheme === 'file') {
    if (authority !== '') throw new InvalidSource('a file URL has no host');
    if (rest.includes('%')) throw new InvalidSource('the path of a file URL is written without "%"');
    return repository('file', '', undefined, address, folder, ref);
  }
  const { host, port } = hostOf(scheme, authority);
  if (host === HOSTED && scheme !== 'ssh' && folder === '' && ref === undefined) {
    const page = pageOf(address);
    if (page !== undefined) return repository('https', host, undefined, page.address, page.folder, page.ref);
  }
  return repository(scheme, host, port, address, folder, ref);
}

/** The platform's URL parser decides what the host is, so that what is checked is what is called. */
function hostOf(scheme: 'https' | 'http' | 'ssh', authority: string): { host: string; port: number | undefined } {
  const at = authority.lastIndexOf('@');
  const user = at === -1 ? undefined : authority.slice(0, at);
  if (scheme === 'ssh' && user !== undefined && user !== 'git' && !user.includes(':')) throw new InvalidSource(OTHER_USER);
  if (user !== undefined && !(scheme === 'ssh' && user === 'git'))
    throw new InvalidSource('it names a user or a password; credentials belong to the host, not into a source');
  let parsed: URL;
  try {
    // Read as http whatever the scheme is: hosts of other schemes are not normalised.
    parsed = new URL(`http://${authority.slice(at + 1)}/`);
  } catch {
    throw new InvalidSource('its host is none');
  }
  if (!HOST.test(parsed.hostname) || parsed.search !== '' || parsed.pathname !== '/') throw new InvalidSource('its host is none');
  const written = /:(\d+)$/.exec(authority.slice(at + 1))?.[1];
  const port = written === undefined ? undefined : Number(written);
  return { host: parsed.hostname.replace(/\.$/, ''), port: port === PORTS[scheme] ? undefined : port };
}

/** `repo//folder#ref` taken apart. */
function split(rest: string): [address: string, folder: string, ref: string | undefined] {
  const hash = rest.indexOf('#');
  const ref = hash === -1 ? undefined : rest.slice(hash + 1);
  const whole = hash === -1 ? rest : rest.slice(0, hash);
  if (ref !== undefined && (!REF.test(ref) || ref.includes('..') || ref.includes('//') || ref.endsWith('/') || ref.endsWith('.lock')))
    throw new InvalidSource('what follows "#" is neither a branch, a tag nor a commit');
  if (whole.includes('?')) throw new InvalidSource('the URL of a repository has no query');
  const double = whole.indexOf('//');
  return double === -1 ? [whole, '', ref] : [whole.slice(0, double), whole.slice(double + 2), ref];
}

/** A page of a repository in the browser: `owner/repo/tree/<ref>/<folder>`, or `blob` for a file in it. */
function pageOf(address: string): { address: string; folder: string; ref: string } | undefined {
  const [owner, name, kind, ref, ...inside] = address.split('/');
  if ((kind !== 'tree' && kind !== 'blob') || ref === undefined || ref === '') return undefined;
  if (!REF.test(ref)) throw new InvalidSource('the branch, tag or commit in the URL is none');
  if (kind === 'blob') inside.pop();
  return { address: `${owner}/${name}`, folder: inside.join('/'), ref };
}

function repository(
  transport: RepositorySource['transport'],
  host: string,
  port: number | undefined,
  address: string,
  folder: string,
  ref: string | undefined,
): RepositorySource {
  const clean = parts(address, 'the path of the repository').join('/');
  if (clean === '') throw new InvalidSource('the URL names no repository');
  const inside = parts(folder, 'the folder in the repository').join('/');
  if (inside.split('/').some((part) => part.toLowerCase() === '.git')) throw new InvalidSource("the folder lies in git's own directory");
  const bare = bareAddress(clean);
  if (host === HOSTED && bare.split('/').length !== 2) throw new InvalidSource('a repository there is named owner/repository');
  const authority = `${host}${port === undefined ? '' : `:${port}`}`;
  const prefix = transport === 'ssh' ? `ssh://git@${authority}/` : `${transport}://${authority}/`;
  return {
    kind: 'repository',
    id: `${prefix}${bare}${inside === '' ? '' : `//${inside}`}${ref === undefined ? '' : `#${ref}`}`,
    url: `${prefix}${clean}`,
    transport,
    host,
    port,
    folder: inside,
    ref,
  };
}

/** Without the `.git` that hosts take or leave. */
export function bareAddress(address: string): string {
  return address.replace(/(?<=[^/])\.git$/, '');
}

function parts(path: string, what: string): string[] {
  const found = path.split('/').filter((part) => part !== '' && part !== '.');
  for (const part of found) {
    if (part === '..' || /%2f|%2e|%5c|%00/i.test(part)) throw new InvalidSource(`${what} leads upwards`);
    if (part.startsWith('-') || !PART.test(part)) throw new InvalidSource(`${what} has characters that it cannot have`);
  }
  return found;
}
