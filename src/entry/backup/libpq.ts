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
/** Each has the driver speak TLS, and look at who answers. */
const FILES = ['sslrootcert', 'sslcert', 'sslkey'];
const AUTHORITIES = 'authorities.pem';

/**
 * An address as libpq takes it, which trusts whom the driver trusts. The password is in the environment: it is for nobody who looks at a list of
 * processes. The authorities that Node knows are written into `folder` where they count.
 */
export async function connectionOf(url: string, folder: string): Promise<Told> {
  const at = new URL(url);
  const { password, searchParams: asked } = at;
  at.password = '';
  const env: NodeJS.ProcessEnv = { ...process.env, ...(password === '' ? {} : { PGPASSWORD: decodeURIComponent(password) }) };
  const mode = modeOf(asked, env.PGSSLMODE);
  // With one libpq looks at who answers, and the driver was told not to.
  const left = new Set(mode === 'no-verify' ? [...TRANSLATED, 'sslrootcert'] : TRANSLATED);
  // Not through `searchParams`, which writes a space as `+`: libpq does not read that.
  const rest = at.search.slice(1).split('&');
  const kept = rest.filter((pair) => pair !== '' && !left.has(pair.split('=')[0]!));
  at.search = [...kept, ...(mode === undefined ? [] : [`sslmode=${mode === 'no-verify' ? 'require' : mode}`])].join('&');
  if (mode === 'verify-full' && !asked.has('sslrootcert') && !env.PGSSLROOTCERT) {
    // Not `system`: libpq has it from version 16 on, and it leaves out what Node was told.
    env.PGSSLROOTCERT = join(folder, AUTHORITIES);
    await writeFile(env.PGSSLROOTCERT, await authorities());
  }
  return { address: at.href, env };
}

/** What the driver makes of an address: but for `uselibpqcompat` it takes each mode with TLS for the strictest one. */
function modeOf(asked: URLSearchParams, ofEnvironment: string | undefined): string | undefined {
  const [mode, ssl] = [asked.get('sslmode'), asked.get('ssl')];
  if (mode !== null) return asked.get('uselibpqcompat') === 'true' ? mode : strictly(mode);
  if (ssl === '0') return 'disable';
  if (ssl === 'no-verify') return ssl;
  if (ssl !== null || FILES.some((name) => asked.has(name)) || asked.get('sslnegotiation') === 'direct') return 'verify-full';
  return ofEnvironment ? strictly(ofEnvironment) : undefined;
}

const strictly = (mode: string): string => (mode === 'disable' || mode === 'no-verify' ? mode : 'verify-full');

/** All that Node trusts. */
async function authorities(): Promise<string> {
  // From Node 22 on.
  const ask = (tls as Partial<typeof tls>).getCACertificates;
  if (ask !== undefined) return ask('default').join('\n');
  const more = process.env.NODE_EXTRA_CA_CERTS;
  return [...tls.rootCertificates, ...(more ? [await readFile(more, 'utf8')] : [])].join('\n');
}
