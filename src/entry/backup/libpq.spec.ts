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

describe('a program of PostgreSQL', () => {
  it.each([
    ['postgres://svc:p%40ss@db:5433/svc?sslmode=disable', 'postgres://svc@db:5433/svc?sslmode=disable', 'p@ss'],
    ['postgres://svc@db/svc', 'postgres://svc@db/svc', process.env.PGPASSWORD],
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
  ])('is told "%s" as libpq reads it', async (asked, told) => {
    expect((await connectionOf(`postgres://svc@db/svc${asked}`, folder)).address).toBe(`postgres://svc@db/svc${told}`);
    expect(await readdir(folder)).toEqual([]);
  });

  // Guard: libpq knows no authority by itself.
  it.each(['?sslmode=verify-full', '?sslmode=require', '?ssl=true', '?uselibpqcompat=true&sslmode=verify-full'])(
    'trusts with "%s" whom Node trusts',
    async (asked) => {
      const { address, env } = await connectionOf(`postgres://svc@db/svc${asked}`, folder);
      expect(address).toBe('postgres://svc@db/svc?sslmode=verify-full');
      expect(await readFile(env.PGSSLROOTCERT!, 'utf8')).toContain(tls.rootCertificates[0]);
    },
  );
});
