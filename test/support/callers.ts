import { createHash } from 'node:crypto';
import { adminAt } from './database.js';

export interface KeyOptions {
  readonly scope: 'read' | 'write';
  /** Absent for a key of all cities. */
  readonly cities?: readonly string[];
  readonly rights?: readonly string[];
  readonly revoked?: boolean;
  readonly expired?: boolean;
}

/** Stores a key of which the name says the rest, and answers its token. */
export async function putKey(databaseUrl: string, name: string, options: KeyOptions): Promise<string> {
  const { scope, cities = null, rights = [], revoked = false, expired = false } = options;
  const id = createHash('md5').update(name).digest('hex').slice(0, 12);
  const token = `svc_${id}_${createHash('md5').update(`secret of ${name}`).digest('hex')}`;
  await adminAt(
    databaseUrl,
    `insert into api_keys (id, name, hash, scope, cities, rights, revoked_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, case when $7 then now() end, case when $8 then now() - interval '1 minute' end)`,
    [id, name, createHash('sha256').update(token).digest(), scope, cities, rights, revoked, expired],
  );
  return token;
}
