import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { loadConfig } from './config.js';

let folder: string;
let missing: string;
let text: string;
let certificate: string;
let key: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-database-files-'));
  [missing, text, certificate, key] = ['missing.pem', 'text.pem', 'certificate.pem', 'key.pem'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ];
  await writeFile(text, 'no PEM');
  await writeFile(certificate, rootCertificates[0]!);
  await writeFile(key, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const PASSWORD = 'pa55';
const address = (asked: string): string => `postgres://svc:${PASSWORD}@one,two/x?target_session_attrs=any&${asked}`;
const start =
  (env: Record<string, string>): (() => unknown) =>
  () =>
    loadConfig({ SVC_DATABASE_URL: 'postgres://one/x', ...env }, '/');

describe('a file that the address of a database names', () => {
  // Guard: the driver alone ends a start with ENOENT, which says neither the variable nor what is meant.
  it.each(['SVC_DATABASE_URL', 'SVC_DATABASE_LISTEN_URL'])('(%s) is told of when there is none', (variable) => {
    for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
      const wrong = start({ [variable]: address(`${name}=${missing}`) });
      expect(wrong).toThrow(`${variable}: has ${name}=${missing}, which does not exist: it has to be a PEM file of the `);
      expect(wrong).not.toThrow(PASSWORD);
    }
  });

  it.each([
    ['sslrootcert', 'holds no certificate'],
    ['sslcert', 'holds no certificate'],
    ['sslkey', 'holds no private key that needs no passphrase'],
  ])('(%s) is told of when it holds something else', (name, fault) => {
    expect(start({ SVC_DATABASE_URL: address(`${name}=${text}`) })).toThrow(`has ${name}=${text}, which ${fault}: `);
    expect(start({ SVC_DATABASE_URL: address(`${name}=${folder}`) })).toThrow('which is a directory: ');
    expect(start({ SVC_DATABASE_URL: address(`${name}=/dev/null`) })).toThrow('which is no file: ');
  });

  it('is taken when it is one, and passed over when it is empty', () => {
    expect(start({ SVC_DATABASE_URL: address(`sslrootcert=${certificate}&sslcert=${certificate}&sslkey=${key}`) })).not.toThrow();
    expect(start({ SVC_DATABASE_URL: address('sslrootcert=&sslcert=') })).not.toThrow();
    // As the driver does, which takes the last.
    expect(start({ SVC_DATABASE_URL: address(`sslrootcert=${missing}&sslrootcert=${certificate}`) })).not.toThrow();
  });
});
