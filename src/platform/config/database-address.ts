import { faultOfFiles } from './database-files.js';

/** Addresses as libpq has them: `postgres://user@one:5432,two:5433/name?target_session_attrs=read-write`. The driver knows one host. */
const ADDRESS = /^(postgres(?:ql)?:\/\/)((?:[^@/?#]*@)?)([^/?#]*)(.*)$/;
const ATTRS = 'target_session_attrs';
/** Which server of several is meant. The service writes: it takes no other. */
const WRITABLE = new Set(['read-write', 'primary', 'any']);

/** One address a host, each as the driver takes it. */
export function addressesOf(url: string): string[] {
  const [, scheme = '', user = '', hosts = '', rest = ''] = ADDRESS.exec(url) ?? [];
  if (scheme === '') return [url];
  return hosts.split(',').map((host) => withoutAttrs(`${scheme}${user}${host}${rest}`));
}

function withoutAttrs(url: string): string {
  if (!url.includes(ATTRS) || !URL.canParse(url)) return url;
  const address = new URL(url);
  address.searchParams.delete(ATTRS);
  return address.href;
}

/**
 * The server itself, past a pooler of transactions (`SVC_DATABASE_LISTEN_URL`): for LISTEN, migrations, jobs, programs of PostgreSQL, and whatever
 * else says at its start how its connection shall be, or sets what outlives a transaction.
 */
export function pastPooler<T extends string | undefined>(
  config: { readonly databaseListenUrl: string | undefined },
  databaseUrl: T,
): string | T {
  return config.databaseListenUrl ?? databaseUrl;
}

/** What is wrong with an address; undefined when nothing is. */
export function faultOf(url: string): string | undefined {
  const [, scheme = '', user = '', hosts = '', rest = ''] = ADDRESS.exec(url) ?? [];
  if (scheme === '') return 'has to be the address of a PostgreSQL database, as postgres://user@host/name';
  const all = hosts.split(',');
  if (all.some((host) => !URL.canParse(`${scheme}${user}${host}${rest}`) || (all.length > 1 && host === '')))
    return 'has a host that is none; several are written postgres://user@one:5432,two:5432/name';
  const asked = new URL(`${scheme}${user}${all[0]}${rest}`).searchParams;
  const attrs = asked.get(ATTRS);
  if (attrs !== null && !WRITABLE.has(attrs)) return `has ${ATTRS}=${attrs}: the service writes, and takes read-write alone`;
  return faultOfFiles(asked);
}
