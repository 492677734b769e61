import { copyFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Authority, mountedPair, type PairFiles } from '../../../../test/support/authority.js';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import { loadConfig } from '../../config/config.js';
import type { AppLogger } from '../../logging/logger.js';
import { Certificate } from './certificate.js';
import { namesHost, pairOf, readPair, type Pair } from './pair.js';

let dir: string;
let one: PairFiles & { dir: string };
let two: PairFiles & { dir: string };
let count = 0;
const YEAR_MS = 365 * 86_400_000;

beforeAll(async () => {
  dir = await folder('svc-tls-');
  const authority = await Authority.in(dir);
  one = await authority.issue();
  two = await authority.issue('DNS:svc.example.test,DNS:*.pool.example.test');
});
afterAll(removeFolders);

const file = (text: string): string => {
  const at = join(dir, `file-${++count}`);
  writeFileSync(at, text);
  return at;
};

describe('the pair of a server', () => {
  it('is told by the variable and the file what is wrong with it', async () => {
    const missing = join(dir, 'missing');
    await expect(readPair({ cert: missing, key: one.key })).rejects.toThrow(`SVC_TLS_CERT: ${missing} does not exist`);
    await expect(readPair({ cert: one.cert, key: dir })).rejects.toThrow(`SVC_TLS_KEY: ${dir} is no file`);
    const text = file('hello');
    await expect(readPair({ cert: text, key: one.key })).rejects.toThrow(`SVC_TLS_CERT: ${text} holds no certificate in PEM`);
    await expect(readPair({ cert: one.cert, key: text })).rejects.toThrow(`SVC_TLS_KEY: ${text} holds no private key in PEM`);
    const large = file('x'.repeat(300 * 1024));
    await expect(readPair({ cert: large, key: one.key })).rejects.toThrow(`SVC_TLS_CERT: ${large} has more than`);
  });

  it('is refused when the key is that of another certificate', async () => {
    await expect(readPair({ cert: one.cert, key: two.key })).rejects.toThrow(
      `the key in ${two.key} does not belong to the certificate in ${one.cert}`,
    );
  });

  it('knows which hosts it is for', async () => {
    const [own, named] = [(await readPair(one)).leaf, (await readPair(two)).leaf];
    expect(['127.0.0.1', 'localhost', '10.0.0.1'].map((host) => namesHost(own, host))).toEqual([true, true, false]);
    expect(['svc.example.test', 'a.pool.example.test', '127.0.0.1'].map((host) => namesHost(named, host))).toEqual([true, true, false]);
  });
});

describe('a certificate whose files change', () => {
  let files: PairFiles;
  let taken: Pair[];
  let said: string[];
  let now: number;

  const begin = async (pair: PairFiles = one): Promise<Certificate> => {
    files = { cert: join(dir, `own-${++count}.crt`), key: join(dir, `own-${count}.key`) };
    write(pair);
    [taken, said, now] = [[], [], Date.now()];
    const say = (level: string) => (_: unknown, text: string) => void said.push(`${level}: ${text}`);
    const log = { info: say('info'), warn: say('warn'), error: say('error') } as unknown as AppLogger;
    return new Certificate(files, await readPair(files), log, () => now);
  };
  const write = (pair: PairFiles): void => {
    copyFileSync(pair.cert, files.cert);
    copyFileSync(pair.key, files.key);
  };
  const look = (certificate: Certificate): Promise<boolean> => certificate.look((pair) => taken.push(pair));

  it('takes a new pair once', async () => {
    const certificate = await begin();
    expect(await look(certificate)).toBe(false);
    write(two);
    expect([await look(certificate), await look(certificate)]).toEqual([true, false]);
    expect(taken.map(({ cert }) => cert)).toEqual([await readFile(two.cert, 'utf8')]);
    expect(said.filter((line) => line.includes('new connections'))).toHaveLength(1);
  });

  it('keeps the old one while the two do not belong together, and says nothing of a moment', async () => {
    const certificate = await begin();
    copyFileSync(two.cert, files.cert);
    expect(await look(certificate)).toBe(false);
    expect(said).toEqual([]);
    copyFileSync(two.key, files.key);
    expect(await look(certificate)).toBe(true);
    expect(taken).toHaveLength(1);
  });

  it.each([
    ['half a file', (text: string) => text.slice(0, 200), 'holds no certificate in PEM'],
    ['nothing', () => '', 'holds no certificate in PEM'],
  ])('keeps the old one for %s, and says so once', async (_, broken, why) => {
    const certificate = await begin();
    writeFileSync(files.cert, broken(await readFile(two.cert, 'utf8')));
    for (let i = 0; i < 4; i++) expect(await look(certificate)).toBe(false);
    expect(taken).toEqual([]);
    expect(said).toEqual([expect.stringContaining(why)]);
    write(two);
    expect(await look(certificate)).toBe(true);
  });

  it('follows a folder that is swapped as a whole', async () => {
    const mounted = await mountedPair(join(dir, 'mounted'), one.dir);
    await begin();
    const certificate = new Certificate(mounted, await readPair(mounted), { info: () => undefined, warn: () => undefined } as never);
    await mounted.swap(two.dir);
    expect(await look(certificate)).toBe(true);
    expect(taken.map(({ key }) => key)).toEqual([await readFile(two.key, 'utf8')]);
  });

  it('does not take an expired one for one that is not', async () => {
    const certificate = await begin();
    const later = pairOf(files, await readFile(two.cert, 'utf8'), await readFile(two.key, 'utf8')).leaf.validToDate.getTime();
    // The first one lasts longer in this test than openssl lets it.
    Object.defineProperty(certificate, 'expires', { value: later + YEAR_MS });
    now = later;
    write(two);
    for (let i = 0; i < 2; i++) expect(await look(certificate)).toBe(false);
    expect(said).toContainEqual(expect.stringContaining('has expired, the one that is served has not'));
  });

  it('is announced with a loud word when it has expired, and with a warning when it does not name its own address', async () => {
    const config = loadConfig({ SVC_TLS_CERT: one.cert, SVC_TLS_KEY: one.key }, dir);
    const good = await begin();
    good.announce(config);
    expect(said).toEqual(['info: HTTPS is served', 'warn: the TLS certificate expires within 3 days']);
    const other = await begin(two);
    now += YEAR_MS;
    other.announce(config);
    expect(said).toContainEqual(expect.stringContaining('error: the TLS certificate HAS EXPIRED'));
    expect(said).toContainEqual(expect.stringContaining('warn: the certificate does not name 127.0.0.1'));
  });
});

describe('SVC_TLS_CERT and SVC_TLS_KEY', () => {
  it('need each other', () => {
    expect(() => loadConfig({ SVC_TLS_CERT: one.cert }, dir)).toThrow('SVC_TLS_CERT, SVC_TLS_KEY: one needs the other');
    expect(() => loadConfig({ SVC_TLS_KEY: one.key }, dir)).toThrow('SVC_TLS_CERT, SVC_TLS_KEY: one needs the other');
  });
});
