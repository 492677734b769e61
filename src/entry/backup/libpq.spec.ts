import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connectionOf } from './libpq.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-libpq-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** What it is told of an address without anything of TLS, or with this, in that environment. */
async function addressIn(environment: Record<string, string>, asked = ''): Promise<{ asked: string; roots: string | undefined }> {
  const { env: kept } = process;
  process.env = { ...kept, ...environment };
  try {
    const { address, env } = await connectionOf(`postgres://svc@db/svc${asked}`, folder);
    expect(env.PGSSLMODE).toBeUndefined();
    return { asked: new URL(address).search, roots: env.PGSSLROOTCERT };
  } finally {
    process.env = kept;
  }
}

describe('a program of PostgreSQL', () => {
  it.each([
    ['postgres://svc:p%40ss@db:5433/svc?sslmode=disable', 'postgres://svc@db:5433/svc?sslmode=disable', 'p@ss'],
    ['postgres://svc@db/svc', 'postgres://svc@db/svc', process.env.PGPASSWORD],
    ['postgres://db/svc?user=svc&password=p%40ss', 'postgres://db/svc?user=svc', 'p@ss'],
    ['postgres://svc:one@db/svc?password=two', 'postgres://svc@db/svc', 'two'],
    ['postgres://svc:one@db/svc?password=', 'postgres://svc@db/svc', 'one'],
  ])('is told %s without its password, which it finds in its environment', async (url, address, password) => {
    const told = await connectionOf(url, folder);
    expect([told.address, told.env.PGPASSWORD]).toEqual([address, password]);
  });

  // Guard: what the driver says about modes, and recommends, is not what libpq reads.
  it.each([
    ['', ''],
    ['?application_name=a%20b', '?application_name=a%20b'],
    ['?uselibpqcompat=true', ''],
    ['?uselibpqcompat=true&sslmode=require', '?sslmode=require'],
    ['?sslmode=prefer&uselibpqcompat=true&options=-c%20a%3Db', '?options=-c%20a%3Db&sslmode=prefer'],
    ['?sslmode=no-verify', '?sslmode=require'],
    ['?sslmode=no-verify&sslrootcert=/ca.pem', '?sslmode=require'],
    ['?ssl=no-verify', '?sslmode=require'],
    ['?ssl=0', '?sslmode=disable'],
    ['?sslmode=verify-full&sslrootcert=/ca.pem', '?sslrootcert=/ca.pem&sslmode=verify-full'],
    ['?sslmode=verify-ca&sslrootcert=/ca.pem', '?sslrootcert=/ca.pem&sslmode=verify-full'],
    ['?sslmode=verify-ca&sslrootcert=/ca.pem&uselibpqcompat=true', '?sslrootcert=/ca.pem&sslmode=verify-ca'],
    ['?sslrootcert=/ca.pem', '?sslrootcert=/ca.pem&sslmode=verify-full'],
    ['?ssl=0&sslrootcert=/ca.pem', '?sslrootcert=/ca.pem&sslmode=verify-full'],
    ['?ssl=0&sslmode=&sslrootcert=', '?sslmode=disable'],
    ['?ssl=', '?sslmode=disable'],
    ['?sslmode=disable&sslmode=no-verify', '?sslmode=require'],
    ['?query_timeout=1&statement_timeout=1&lock_timeout=1&idle_in_transaction_session_timeout=1&connect_timeout=9', '?connect_timeout=9'],
  ])('is told "%s" as libpq reads it', async (asked, told) => {
    expect((await connectionOf(`postgres://svc@db/svc${asked}`, folder)).address).toBe(`postgres://svc@db/svc${told}`);
    expect(await readdir(folder)).toEqual([]);
  });

  // Guard: libpq knows no authority by itself.
  it.each([
    '?sslmode=verify-full',
    '?sslmode=require',
    '?ssl=true',
    '?uselibpqcompat=true&sslmode=verify-full',
    '?uselibpqcompat=true&sslmode=no-verify',
    '?sslmode=verify-full&sslrootcert=',
  ])('trusts with "%s" whom Node trusts', async (asked) => {
    const { address, env } = await connectionOf(`postgres://svc@db/svc${asked}`, folder);
    expect(address).toBe('postgres://svc@db/svc?sslmode=verify-full');
    expect(await readFile(env.PGSSLROOTCERT!, 'utf8')).toContain((tls.getCACertificates?.('default') ?? tls.rootCertificates)[0]);
  });

  it('is told what the environment says, as the driver reads it', async () => {
    const told = async (PGSSLMODE: string): Promise<string> => (await addressIn({ PGSSLMODE })).asked;
    for (const mode of ['allow', 'nonsense', '']) expect([mode, await told(mode)]).toEqual([mode, '']);
    for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full'])
      expect([mode, await told(mode)]).toEqual([mode, '?sslmode=verify-full']);
    expect([await told('disable'), await told('no-verify')]).toEqual(['?sslmode=disable', '?sslmode=require']);
  });

  // Guard: a server that the service works with has no backup.
  it('looks at nobody where Node is told not to', async () => {
    const environment = { NODE_TLS_REJECT_UNAUTHORIZED: '0', PGSSLROOTCERT: '/ca.pem' };
    for (const asked of [
      '?sslmode=require',
      '?ssl=true',
      '?sslrootcert=/ca.pem',
      '?sslmode=verify-ca&sslrootcert=/ca.pem&uselibpqcompat=true',
    ])
      expect(await addressIn(environment, asked)).toEqual({ asked: '?sslmode=require', roots: undefined });
    expect(await addressIn(environment, '?sslmode=disable')).toMatchObject({ asked: '?sslmode=disable' });
    expect(await addressIn(environment)).toMatchObject({ asked: '' });
    expect(await readdir(folder)).toEqual([]);
  });
});
