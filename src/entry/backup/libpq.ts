import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import tls from 'node:tls';

/** How a program of PostgreSQL is told where the database is. */
export interface Told {
  readonly address: string;
  readonly env: NodeJS.ProcessEnv;
}

/** What the driver and libpq do not read alike. */
const TRANSLATED = ['uselibpqcompat', 'ssl', 'sslmode'];
/** What libpq refuses to read. The programs wait for as long as it takes. */
const OF_DRIVER = ['query_timeout', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
/** Each has the driver speak TLS, and look at who answers. */
const FILES = ['sslrootcert', 'sslcert', 'sslkey'];
const AUTHORITIES = 'authorities.pem';

/**
 * An address as libpq takes it, which trusts whom the driver trusts. The password is in the environment: it is for nobody who looks at a list of
 * processes. The authorities that Node knows are written into `folder` where they count.
 */
export async function connectionOf(url: string, folder: string): Promise<Told> {
  const at = new URL(url);
  const asked: Asked = Object.fromEntries(at.searchParams);
  // What is asked behind the address counts first, as for the driver.
  const password = asked.password || decodeURIComponent(at.password);
  at.password = '';
  const env: NodeJS.ProcessEnv = { ...process.env, ...(password === '' ? {} : { PGPASSWORD: password }) };
  const mode = modeOf(asked, env);
  // What counts of it is in the address; libpq refuses what the driver passes over.
  delete env.PGSSLMODE;
  const left = new Set([...TRANSLATED, ...OF_DRIVER, 'password', ...FILES.filter((name) => asked[name] === '')]);
  if (mode === 'no-verify') {
    // With one libpq looks at who answers, and the driver was told not to.
    left.add('sslrootcert');
    delete env.PGSSLROOTCERT;
  }
  // Not through `searchParams`, which writes a space as `+`: libpq does not read that.
  const rest = at.search.slice(1).split('&');
  const kept = rest.filter((pair) => pair !== '' && !left.has(pair.split('=')[0]!));
  at.search = [...kept, ...(mode === undefined ? [] : [`sslmode=${mode === 'no-verify' ? 'require' : mode}`])].join('&');
  if (mode === 'verify-full' && !asked.sslrootcert && !env.PGSSLROOTCERT) {
    // Not `system`: libpq has it from version 16 on, and it leaves out what Node was told.
    env.PGSSLROOTCERT = join(folder, AUTHORITIES);
    await writeFile(env.PGSSLROOTCERT, await authorities());
  }
  return { address: at.href, env };
}

type Asked = Readonly<Record<string, string | undefined>>;
const ONES_OF_LIBPQ = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** What the driver makes of an address. */
function modeOf(asked: Asked, env: NodeJS.ProcessEnv): string | undefined {
  const mode = ofAddress(asked) ?? ofEnvironment(env.PGSSLMODE);
  const looks = mode !== undefined && mode !== 'disable' && mode !== 'prefer';
  // Node looks at nobody then.
  return looks && env.NODE_TLS_REJECT_UNAUTHORIZED === '0' ? 'no-verify' : mode;
}

/** In its order: a mode, or a file, counts before `ssl`, and what is empty is none. undefined: it says nothing of it. */
function ofAddress(asked: Asked): string | undefined {
  const { ssl, sslmode: mode, sslnegotiation, uselibpqcompat } = asked;
  if (mode) {
    if (uselibpqcompat === 'true') return ONES_OF_LIBPQ.includes(mode) ? mode : 'verify-full';
    return strictly(mode);
  }
  if (FILES.some((name) => asked[name])) return 'verify-full';
  if (ssl === undefined) return sslnegotiation === 'direct' ? 'verify-full' : undefined;
  if (ssl === '0' || ssl === '') return 'disable';
  return strictly(ssl);
}

/** It speaks no TLS for what it does not know, as `allow`. */
function ofEnvironment(mode: string | undefined): string | undefined {
  return mode === 'no-verify' || (mode !== undefined && ONES_OF_LIBPQ.includes(mode)) ? strictly(mode) : undefined;
}

/** But for `uselibpqcompat` each mode with TLS is the strictest one. */
const strictly = (mode: string): string => (mode === 'disable' || mode === 'no-verify' ? mode : 'verify-full');

/** All that Node trusts. */
async function authorities(): Promise<string> {
  // From Node 22 on.
  const ask = (tls as Partial<typeof tls>).getCACertificates;
  if (ask !== undefined) return ask('default').join('\n');
  const more = process.env.NODE_EXTRA_CA_CERTS;
  return [...tls.rootCertificates, ...(more ? [await readFile(more, 'utf8')] : [])].join('\n');
}
